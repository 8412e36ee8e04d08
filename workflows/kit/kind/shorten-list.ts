// Limits the length of lists in messages.

/** The first `max` texts; if there are more, followed by `and N more`. */
export function shortenList(texts: readonly string[], max: number): readonly string[] {
  return texts.length > max ? [...texts.slice(0, max), `and ${texts.length - max} more`] : texts
}

/** Joins the first `max` names: `a, b and 3 more`. */
export function joinNames(names: readonly string[], max: number): string {
  const joined = names.slice(0, max).join(', ')
  return names.length > max ? `${joined} and ${names.length - max} more` : joined
}
