// How a worker process shares the subjects of a controller out with others, where a flag says so: it takes those of some lanes, and its runs host
// those alone. Source: docs/adr/0027.

import type { LeftLanes } from '../../activities/journal/write/left-lanes.ts'
import type { Controller, Partitions } from '../../workflows/kit/index.ts'
import type { GivenFlags } from '../server/flags.ts'
import { namedIn } from './only.ts'

/** Of one controller, what this process serves. */
export interface LaneShare {
  readonly controller: string
  /** The controllers whose runs may host its subjects. */
  readonly hosts: readonly string[]
  readonly lanes: Partitions
  /** In order. */
  readonly served: readonly string[]
}

/**
 * The shares that flags give to this process; none where no flag is given: it serves all.
 *
 * @throws with the flag, what was found and what was expected.
 */
export function laneShares(controllers: Iterable<Controller>, given: GivenFlags): readonly LaneShare[] {
  return [...controllers].flatMap(({ name, partitions: lanes, hostedBy: hosts = [] }) => {
    const text = lanes && given[lanes.flag]
    return lanes === undefined || text === undefined
      ? []
      : [{ controller: name, hosts, lanes, served: servedLanes(text, lanes) }]
  })
}

function servedLanes(text: string, { names: all, flag }: Partitions): readonly string[] {
  const short = (lane: string) => shortLane(lane, all)
  // A whole name is as good.
  const meant = (name: string) => (all.includes(name) ? short(name) : name)
  const named = namedIn(text, { flag, what: 'type', known: all.map(short) }, meant)
  return all.filter((lane) => named.includes(short(lane)))
}

/** What stands behind a lane's last '/', where that is no other lane's. */
export function shortLane(lane: string, all: readonly string[]): string {
  const short = lane.slice(lane.lastIndexOf('/') + 1)
  return all.some((other) => other !== lane && other.endsWith(`/${short}`)) ? lane : short
}

/** What a run of the controller serves of what it may host; undefined: all. */
export function servesOf(shares: readonly LaneShare[], controller: string): readonly string[] | undefined {
  return shares.find(({ hosts }) => hosts.includes(controller))?.served
}

/** What this process leaves to others. */
export function leftLanes(shares: readonly LaneShare[]): readonly LeftLanes[] {
  return shares.flatMap(({ controller, lanes: { path: at, names: all }, served }) => {
    const lanes = all.filter((lane) => !served.includes(lane))
    return lanes.length === 0 ? [] : [{ controller, at, lanes }]
  })
}
