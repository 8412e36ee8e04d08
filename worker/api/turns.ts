// Who is answered when: of each share so many questions at a time and so many a second, so that one tenant cannot take the process from the others.
//
//   T1. A question waits while others of its share are answered; when too many wait already, it is turned away at once.
//   T2. What a share asks is counted over time: a store of questions that fills up evenly.
//   T3. A share that asks nothing takes no memory.

export interface TurnLimits {
  /** Of a share, at a time. */
  readonly atOnce: number
  /** Of a share, at most, for a turn. */
  readonly waiting: number
  /** Of a share. */
  readonly perSecond: number
  /** So many may come at once after a silence. */
  readonly burst: number
  /** What there are too many of, for the one who is turned away. */
  readonly what: string
}

/** Come again later. */
export class TurnedAway extends Error {}

export type Turns = <Answer>(share: string, work: () => Promise<Answer>) => Promise<Answer>

interface Share {
  running: number
  readonly line: (() => void)[]
  tokens: number
  filledAt: number
}

/** @param now milliseconds of a steady clock. */
export function createTurns({ atOnce, waiting, perSecond, burst, what }: TurnLimits, now: () => number): Turns {
  const shares = new Map<string, Share>()
  const shareOf = (name: string): Share => {
    const found = shares.get(name)
    if (found !== undefined) return found
    const made = { running: 0, line: [], tokens: burst, filledAt: now() }
    shares.set(name, made)
    return made
  }
  const fill = (share: Share) => {
    const at = now()
    share.tokens = Math.min(burst, share.tokens + ((at - share.filledAt) / 1000) * perSecond)
    share.filledAt = at
  }
  // T3
  const forget = () => {
    for (const [name, share] of shares) {
      fill(share)
      if (share.running === 0 && share.tokens >= burst) shares.delete(name)
    }
  }
  return async (name, work) => {
    if (shares.size > MOST_SHARES) forget()
    const share = shareOf(name)
    fill(share)
    if (share.tokens < 1 || share.line.length >= waiting)
      throw new TurnedAway(`too many ${what}; expected at most ${perSecond} a second, ${atOnce} at a time`)
    share.tokens -= 1
    if (share.running >= atOnce) await new Promise<void>((go) => share.line.push(go))
    else share.running += 1
    try {
      return await work()
    } finally {
      // The place goes on to the next in the line.
      const next = share.line.shift()
      if (next === undefined) share.running -= 1
      else next()
    }
  }
}

const MOST_SHARES = 1000
