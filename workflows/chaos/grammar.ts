// How texts of flags and of files are read, each with what is expected of them.

/** Reads a value; undefined: it is none. */
export interface Grammar<Value> {
  readonly reads: (text: string) => Value | undefined
  /** Reads on from "expected". */
  readonly expected: string
}

/** An integer between both, inclusive. */
export function whole(least: number, most: number): Grammar<number> {
  return {
    reads: (text) => {
      const value = Number(text)
      return /^\d{1,15}$/.test(text) && value >= least && value <= most ? value : undefined
    },
    expected:
      most === Number.MAX_SAFE_INTEGER ? `an integer of at least ${least}` : `an integer from ${least} to ${most}`,
  }
}

/** Reads one of these. */
export function among<Value extends string>(values: readonly Value[]): (text: string) => Value | undefined {
  return (text) => values.find((value) => value === text)
}
