import { t } from "../words";

export function Images({ urls }: { urls: string[] }) {
  return urls.map((url, index) => <img key={index} className="attached" src={url} alt={t("Picture {n}", { n: index + 1 })} />);
}
