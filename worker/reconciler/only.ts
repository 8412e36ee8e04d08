// Flags that name what a worker process does, when it leaves the rest to other processes.

/** What a flag names, such as `controller`, and what it may name; undefined: anything. */
export interface Nameable {
  readonly flag: string
  readonly what: string
  readonly known: readonly string[] | undefined
}

/**
 * The controllers in the order in which they are named; undefined without the flag: all.
 *
 * @throws with what was found and what was expected when a name is none of `known` (undefined: any may be), or is there twice.
 */
export function onlyControllers(
  text: string | undefined,
  known: readonly string[] | undefined,
): readonly string[] | undefined {
  return text === undefined ? undefined : namedIn(text, { flag: 'only', what: 'controller', known })
}

/** The names of a list, separated by commas, as they are meant. @throws as `onlyControllers`. */
export function namedIn(
  text: string,
  { flag, what, known }: Nameable,
  meant: (name: string) => string = (name) => name,
): readonly string[] {
  const names = text.split(',').map((name) => name.trim())
  const unknown = names.find((name) => known?.includes(meant(name)) === false)
  if (unknown !== undefined && known !== undefined)
    throw new Error(`--${flag} names "${unknown}"; expected ${what}s of ${known.join(', ')}`)
  const twice = names.find((name, index) => names.slice(0, index).some((before) => meant(before) === meant(name)))
  if (twice !== undefined) throw new Error(`--${flag} names "${twice}" twice; expected each ${what} once`)
  return names.map(meant)
}
