// Faults of the API server for the worker and for the bridge: refusals, lost connections, and watches that end, or whose events are lost, doubled or late.

import { diceOf } from '../matrix/dice.ts'
import { byForm, SEED } from '../matrix/form.ts'
import type { ActiveFault, Fault } from './fault.ts'
import { Gate } from './gate.ts'
import { bookmarkOf, isBookmark, type Refusal } from './http-messages.ts'
import type { WriteFault } from './http-proxy.ts'
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
    least: 5,
    start: (_lane, struck) => ({
      disturb: (_label, nth) => (nth % 3 === 0 ? OF_WRITES[(struck() - 1) % OF_WRITES.length] : undefined),
    }),
  },
  {
    title: 'ends all watches at each write',
    least: 6,
    start: ({ bridgeProxy }, struck) => ({ disturb: () => void struck(bridgeProxy.cutWatches()) }),
  },
  {
    title: 'refuses a share of all requests with 429',
    isInStatus: true,
    least: 4,
    start: (lane, struck) => {
      const random = diceOf(SEED)
      let answered = 0
      const refuse = () => {
        if (random() >= BUSY_SHARE && ++answered < MOST_ANSWERED) return undefined
        answered = 0
        struck()
        return { status: 429, reason: 'TooManyRequests', retryAfterSeconds: 1 }
      }
      // The bridge opens its watches again, and gets refusals, too.
      return refusing(lane, refuse, () => lane.bridgeProxy.cutWatches())
    },
  },
  ...[
    { status: 401, reason: 'Unauthorized' },
    { status: 403, reason: 'Forbidden' },
  ].map((refusal): Fault => ({
    title: `refuses six requests after some writes, and ends all watches: ${refusal.status}`,
    isInStatus: true,
    least: 11,
    start: (lane, struck) => {
      let left = 0
      const refuse = () => {
        if (left === 0) return undefined
        left--
        struck()
        return refusal
      }
      return refusing(lane, refuse, (nth) => {
        if (nth % 6 !== 3) return
        left = 6
        lane.bridgeProxy.cutWatches()
      })
    },
  })),
]

/** Refuses requests of worker and bridge, reads and watches too. */
function refusing(lane: Lane, refuse: () => Refusal | undefined, onWrite: (nth: number) => void): ActiveFault {
  for (const proxy of [lane.proxy, lane.bridgeProxy]) proxy.reads = { instead: refuse }
  return {
    disturb: (_label, nth) => {
      onWrite(nth)
      return refuse()
    },
  }
}

export const WATCH_FAULTS: readonly Fault[] = [
  {
    title: 'deliver every event twice',
    least: 11,
    start: ({ bridgeProxy }, struck) => {
      bridgeProxy.reads = {
        lines(_read, line) {
          struck()
          return [line, line]
        },
      }
      return {}
    },
  },
  {
    title: 'restart with a list at every write',
    least: 6,
    start: ({ bridgeProxy }, struck) => ({ disturb: () => void struck(bridgeProxy.expireWatches()) }),
  },
  ...['executions', 'deployitems'].map((plural): Fault => ({
    title: `deliver the events of ${plural} only after the job`,
    least: 1,
    start: ({ bridgeProxy }, struck) => {
      let gate = new Gate()
      bridgeProxy.reads = {
        async lines(read, line) {
          if (read.plural !== plural || isBookmark(line)) return [line]
          struck()
          await gate.opened
          return [line]
        },
      }
      const next = () => {
        gate.open()
        gate = new Gate()
      }
      return { next, stop: () => gate.open() }
    },
  })),
  {
    title: 'deliver no events, so that only periodic lists show changes,',
    least: 6,
    async start({ bridgeProxy, pawl }, struck) {
      const restart = async (...flags: readonly string[]) => {
        await pawl.kill('bridge')
        await pawl.startBridge('bridge', flags)
      }
      bridgeProxy.reads = {
        lines(_read, line) {
          if (!isBookmark(line)) struck()
          return [isBookmark(line) ? line : bookmarkOf(line)]
        },
      }
      await restart('--relist-ms', '1500')
      return { stop: async () => await restart() }
    },
  },
]
