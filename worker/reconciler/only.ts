// The value of --only: which controllers a worker process runs, when it leaves others to other processes.

/**
 * The controllers in the order in which they are named; undefined without the flag: all.
 *
 * @throws with what was found and what was expected when a name is none of `known` (undefined: any may be), or is there twice.
 */
export function onlyControllers(
  text: string | undefined,
  known: readonly string[] | undefined,
): readonly string[] | undefined {
  if (text === undefined) return undefined
  const names = text.split(',').map((name) => name.trim())
  const unknown = names.find((name) => known?.includes(name) === false)
  if (unknown !== undefined && known !== undefined)
    throw new Error(`--only names "${unknown}"; expected controllers of ${known.join(', ')}`)
  const twice = names.find((name, index) => names.indexOf(name) < index)
  if (twice !== undefined) throw new Error(`--only names "${twice}" twice; expected each controller once`)
  return names
}
