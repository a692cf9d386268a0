// Tasks to begin with, for who does not know yet what to ask for.

import { t } from "./words";

export interface Suggestion {
  title: string;
  task: string;
}

export const suggestions = (): Suggestion[] => [
  {
    title: t("Explain this project"),
    task: t("Read this project and explain it to me: what it is for, what its parts are, how it is built and tested."),
  },
  {
    title: t("Fix failing tests"),
    task: t("Run the tests. Where one fails, find out why, and repair the cause."),
  },
  {
    title: t("Write missing tests"),
    task: t("Find the code that matters most and is tested least. Write tests for it, and run them."),
  },
  {
    title: t("Update the README"),
    task: t("Compare the README with the code. Correct what is wrong or missing there."),
  },
];
