/** By what a file's language is known: what follows the last dot of its name, or the name, as with `Makefile`. */
export const endingOf = (path: string): string => /[^./]*$/.exec(path)?.[0].toLowerCase() ?? "";
