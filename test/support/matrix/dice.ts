// Chance that a seed repeats.

/** Numbers from 0 to 1: mulberry32, which is small and good enough for dice. */
export function diceOf(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** One of these, by weight. @param chance from 0 to 1. */
export function drawn<Name extends string>(weights: Readonly<Record<Name, number>>, chance: number): Name {
  const all = Object.entries(weights) as [Name, number][]
  let left = chance * all.reduce((total, [, weight]) => total + weight, 0)
  for (const [name, weight] of all) {
    left -= weight
    if (left < 0) return name
  }
  return all[0]![0]
}
