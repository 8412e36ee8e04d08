// Faults of the API server: refusals, lost connections and watches that end, for the worker and for the bridge.

import type { OnWrite, WriteFault } from './api-proxy.ts'
import { diceOf } from '../matrix/dice.ts'
import { byForm, SEED } from '../matrix/form.ts'
import { type Refusal, refused } from './read-faults.ts'
import type { ActiveFault, Fault } from './fault.ts'
import type { Lane } from './lane.ts'

const OF_WRITES: readonly WriteFault[] = [
  { status: 500, reason: 'InternalError' },
  { status: 429, reason: 'TooManyRequests', retryAfterSeconds: 1 },
  'lost before',
  'lost after',
]

/** Of all requests. */
const BUSY_SHARE = byForm(0.25, 0.5)
/** Requests in a row that a busy server answers at most. A seed must not answer all. */
const MOST_ANSWERED = 5

export const API_FAULTS: readonly Fault[] = [
  {
    title: 'fails every third write, in turn with 500, 429, a lost request and a lost answer,',
    isInStatus: true,
    start: () => {
      let count = 0
      const disturb: OnWrite = (_label, nth) => (nth % 3 === 0 ? OF_WRITES[count++ % OF_WRITES.length] : undefined)
      return { disturb, count: () => count, least: 5 }
    },
  },
  {
    title: 'ends all watches at each write',
    isInStatus: false,
    start: ({ bridgeProxy }) => {
      let count = 0
      const disturb: OnWrite = () => {
        count += bridgeProxy.cutWatches()
        return undefined
      }
      return { disturb, count: () => count, least: 6 }
    },
  },
  {
    title: 'refuses a share of all requests with 429',
    isInStatus: true,
    start: (lane) => {
      const random = diceOf(SEED)
      let answered = 0
      const refuse = () => {
        if (random() >= BUSY_SHARE && ++answered < MOST_ANSWERED) return undefined
        answered = 0
        return { status: 429, reason: 'TooManyRequests', retryAfterSeconds: 1 }
      }
      // The bridge opens its watches again and meets refusals, too.
      return refusing(lane, refuse, () => lane.bridgeProxy.cutWatches(), 4)
    },
  },
  ...[
    { status: 401, reason: 'Unauthorized' },
    { status: 403, reason: 'Forbidden' },
  ].map((refusal): Fault => ({
    title: `refuses six requests after some writes, and ends all watches: ${refusal.status}`,
    isInStatus: true,
    start: (lane) => {
      let left = 0
      const refuse = () => (left > 0 ? (left--, refusal) : undefined)
      const onWrite = (nth: number) => {
        if (nth % 6 !== 3) return
        left = 6
        lane.bridgeProxy.cutWatches()
      }
      return refusing(lane, refuse, onWrite, 11)
    },
  })),
]

/** Refuses requests of worker and bridge, reads and watches too. */
function refusing(
  lane: Lane,
  refuse: () => Refusal | undefined,
  onWrite: (nth: number) => void,
  least: number,
): ActiveFault {
  let count = 0
  const counted = () => {
    const refusal = refuse()
    if (refusal !== undefined) count++
    return refusal
  }
  const instead = () => {
    const refusal = counted()
    return refusal && refused(refusal)
  }
  lane.proxy.reads = { instead }
  lane.bridgeProxy.reads = { instead }
  const disturb: OnWrite = (_label, nth) => {
    onWrite(nth)
    return counted()
  }
  const stop = () => {
    lane.proxy.reads = {}
    lane.bridgeProxy.reads = {}
  }
  return { disturb, count: () => count, least, stop }
}
