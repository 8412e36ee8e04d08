// Parsers for texts of flags and files, each with a description of the expected format.

/** Parses a value; undefined for an invalid text. */
export interface Grammar<Value> {
  readonly parse: (text: string) => Value | undefined
  /** Continues a sentence after "expected". */
  readonly expected: string
}

/** An integer in the given range, inclusive. */
export function integerIn(least: number, most: number): Grammar<number> {
  return {
    parse: (text) => {
      const value = Number(text)
      return /^\d{1,15}$/.test(text) && value >= least && value <= most ? value : undefined
    },
    expected:
      most === Number.MAX_SAFE_INTEGER ? `an integer of at least ${least}` : `an integer from ${least} to ${most}`,
  }
}

/** Parses one of these values. */
export function among<Value extends string>(values: readonly Value[]): (text: string) => Value | undefined {
  return (text) => values.find((value) => value === text)
}
