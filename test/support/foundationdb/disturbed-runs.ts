// Disturbs each call of a change of a cluster in turn (disturbed-calls.ts), and compares effects and result with those of the undisturbed run.
//
//   R1. The next worker begins soon after the disturbance. Later passes are further apart than all waits after a recovery, so that a run has few passes.
//   R2. A run ends early in a world that an earlier run has passed through with the same effects; times do not count.

import { LAST_SPEC_ANNOTATION } from '../../../workflows/foundationdb/contract.ts'
import { isExcluded, isMarked } from '../../../workflows/foundationdb/cluster/process-groups.ts'
import type { ClusterWorld } from './cluster-world.ts'
import { CallRecorder, disturbancesOf } from './disturbed-calls.ts'

const RESTART_SECONDS = 5
const PASS_SECONDS = 700
const MOST_PASSES = 60

/** A difference from the undisturbed run. */
export interface Difference {
  /** Such as `killed call exclude`. */
  readonly disturbance: string
  /** An effect that happened more or less often, such as `exclude storage`, or the differing result. */
  readonly difference: string
}

export interface Scenario {
  /** The world before the first pass. */
  readonly begin: () => Promise<ClusterWorld>
  /** Whether further calls stay undisturbed, because another scenario has the same ones. Default: none. */
  readonly isCovered?: (world: ClusterWorld) => boolean
  /** Continues after the generation is reconciled. */
  readonly finish?: (world: ClusterWorld) => Promise<void>
}

/** @returns the differences, and the number of disturbed runs. */
export async function disturbEachCall({ begin, isCovered, finish }: Scenario): Promise<{
  readonly differences: readonly Difference[]
  readonly runs: number
}> {
  const known = new Set<string>()
  const undisturbed = await begin()
  const calls = await recordCalls(undisturbed, known, isCovered)
  await finish?.(undisturbed)
  const expected = { effects: effectsOf(undisturbed), result: resultOf(undisturbed) }
  const differences: Difference[] = []
  const restarts = new Set<string>()
  for (const { name, at, before } of calls) {
    for (const how of disturbancesOf(name)) {
      const world = before.fork()
      world.recorder = new CallRecorder({ at, how })
      await passThen(world, RESTART_SECONDS)
      world.recorder = undefined
      // Most calls only read, so many runs restart from the same world.
      const text = textOf(world)
      if (restarts.has(text)) continue
      restarts.add(text)
      if ((await reconcile(world, known)) === 'known') continue
      await finish?.(world)
      const found = differencesFrom(expected, world)
      differences.push(...found.map((difference) => ({ disturbance: `${how} ${name}`, difference })))
    }
  }
  return { differences, runs: restarts.size }
}

interface Call {
  readonly name: string
  /** The index in its pass. */
  readonly at: number
  /** The world before its pass. */
  readonly before: ClusterWorld
}

async function recordCalls(
  world: ClusterWorld,
  known: Set<string>,
  isCovered: Scenario['isCovered'] = () => false,
): Promise<readonly Call[]> {
  const calls: Call[] = []
  for (let pass = 0; !isReconciled(world); pass++) {
    if (pass === MOST_PASSES) throw notReconciled(world)
    const before = world.fork()
    const recorder = new CallRecorder()
    world.recorder = recorder
    const isDisturbed = !isCovered(world)
    await passThen(world, PASS_SECONDS)
    if (isDisturbed) calls.push(...recorder.calls.map((name, at) => ({ name, at, before })))
    known.add(textOf(world))
  }
  world.recorder = undefined
  return calls
}

/** R2 */
async function reconcile(world: ClusterWorld, known: Set<string>): Promise<'known' | 'reconciled'> {
  const passed: string[] = []
  for (let pass = 0; pass < MOST_PASSES; pass++) {
    await passThen(world, PASS_SECONDS)
    const text = textOf(world)
    if (known.has(text)) {
      for (const one of passed) known.add(one)
      return 'known'
    }
    passed.push(text)
    if (isReconciled(world)) return 'reconciled'
  }
  throw notReconciled(world)
}

/** R1 */
async function passThen(world: ClusterWorld, seconds: number): Promise<void> {
  world.passSeconds = seconds
  await world.pass()
}

/** Nothing is left to do, except to wait for the deletion of held objects. */
function isReconciled({ generations, target, condition, held }: ClusterWorld): boolean {
  const { reconciled, hasPendingRemoval, ...others } = generations
  if (reconciled !== target.metadata.generation || Object.keys(others).length > 0) return false
  return condition?.reason === 'ReconciliationComplete' || (held.size > 0 && hasPendingRemoval !== undefined)
}

function notReconciled({ condition, generations }: ClusterWorld): Error {
  return new Error(`not reconciled after ${MOST_PASSES} passes: ${JSON.stringify([condition, generations])}`)
}

function effectsOf(world: ClusterWorld): Readonly<Record<string, number>> {
  const counts: Record<string, number> = { ...world.writes }
  // A Pod that gets its files before the next pass needs no annotation that requests them.
  delete counts['patch Pod']
  for (const effect of world.effects) counts[effect] = (counts[effect] ?? 0) + 1
  return counts
}

interface Expected {
  readonly effects: Readonly<Record<string, number>>
  readonly result: unknown
}

function differencesFrom({ effects, result }: Expected, world: ClusterWorld): readonly string[] {
  const found = effectsOf(world)
  const names = [...new Set([...Object.keys(effects), ...Object.keys(found)])].filter(
    (name) => effects[name] !== found[name],
  )
  const [wanted, actual] = [JSON.stringify(result), JSON.stringify(resultOf(world))]
  return wanted === actual ? names : [...names, actual]
}

/** Without times and addresses. */
function resultOf({ target, groups, pods, claims, services, configMap, database }: ClusterWorld): unknown {
  const { connectionString = '', generations, configured, runningVersion } = target.status ?? {}
  const namesOf = (objects: ClusterWorld['pods']) => objects.map(({ metadata }) => metadata.name).sort()
  return {
    status: { coordinators: connectionString.split(',').length, generations, configured, runningVersion },
    groups: groups.map((group) => [
      ...[group.processGroupID, group.processClass, isMarked(group), isExcluded(group)],
      ...(group.processGroupConditions ?? []).map(({ type }) => type),
    ]),
    objects: [pods, claims, services].map(namesOf),
    files: Object.keys(configMap?.['data'] ?? {}),
    specs: pods.map(({ metadata }) => metadata.annotations?.[LAST_SPEC_ANNOTATION]).sort(),
    database: [[...database.exclusions], [...database.keys.keys()], database.processes.length],
  }
}

const TIMES = /"(?:\w*[tT]imestamp|lastTransitionTime|started)":(?:\d+|"[^"]*")/g

function textOf(world: ClusterWorld): string {
  const { target, pods, claims, services, configMap, database } = world
  const ofDatabase = [database.processes, [...database.exclusions], [...database.keys.keys()]]
  const objects = [target, pods, claims, services, configMap]
  return JSON.stringify([effectsOf(world), objects, ofDatabase]).replaceAll(TIMES, '')
}
