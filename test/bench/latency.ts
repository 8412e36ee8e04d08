// Scenario: how long one Installation takes while nothing else is to be done, and how long a level of a chain.
//
//   T1. One after the other: the next is sent when nothing has come of the one before for 200 ms, so each finds the engine at rest.
//   T2. Times are those of the bench's watch, from just before the request is sent; a watch event takes about a millisecond.

import { setTimeout as sleep } from 'node:timers/promises'

import type { KubeClient } from '../../activities/kube/client.ts'
import { inParallel } from '../../activities/kube/in-parallel.ts'
import { API, type LsObject } from '../support/cluster/cluster.ts'
import { openNamespaces } from './bench-namespaces.ts'
import { brokenClaims, type Claim, claimsTable } from './claims.ts'
import { measuredOf, measurePlan, warmUp } from './course-of-plan.ts'
import { readReference } from './figures.ts'
import { Follower } from './follow.ts'
import { installationBody, installationName, type Plan } from './installations.ts'
import { endOf } from './load.ts'
import { figure, markdownTable } from './markdown.ts'
import type { Scenario, ScenarioResult } from './scenario.ts'
import type { Stage } from './stage.ts'
import { median, quantile } from './statistics.ts'

export const latency: Scenario = {
  summary: 'single Installations one after the other, and the levels of a chain',
  run: runLatency,
}

const SINGLE: Plan = { installations: 1, items: 1, shape: 'wide', deployer: 'mock' }
const LEVELS = 50
const CHAIN: Plan = { installations: 1, items: LEVELS, shape: 'chain', deployer: 'mock' }
/** How much faster than the reference a chain has to be. Source: the goal of the row 1x50-chain in rows.ts. */
const CHAIN_GOAL = 3
/** T1 */
const REST_MS = 200
const PARALLEL = 16

/** All from the request that creates the Installation. */
interface Course {
  /** Until `status.jobID` was seen: the engine's first write. */
  readonly firstWriteMs: number
  readonly succeededMs: number
}

async function runLatency(stage: Stage): Promise<ScenarioResult> {
  const { count } = stage.options.scenarioOptions
  const reference = await readReference()
  await warmUp(stage)
  const singles = await runSingles(stage, count)
  const levels: number[] = []
  for (let run = 0; run < stage.options.runs; run++)
    levels.push(measuredOf(await measurePlan(stage, CHAIN), 'create').wallMs / LEVELS)

  const single = reference.rows['1x1 mock']?.create?.wallMs
  const chain = reference.rows[`1x${LEVELS}-chain mock`]?.create?.wallMs
  const p50 = quantile(
    singles.map(({ succeededMs }) => succeededMs),
    0.5,
  )
  const claims = [
    atMost('1x1 is not slower than the reference at p50', p50, single),
    atMost(
      `a level of 1x${LEVELS} chain is ${CHAIN_GOAL} times as fast as that of the reference`,
      median(levels),
      chain === undefined ? undefined : chain / LEVELS / CHAIN_GOAL,
    ),
  ]
  return {
    failures: brokenClaims(claims),
    report: () => [section({ singles, levels, claims, engine: reference.engine })],
  }
}

function atMost(sentence: string, ms: number, limitMs: number | undefined): Claim {
  const isKept = limitMs !== undefined && ms <= limitMs
  return { sentence: `${sentence} (${figure(limitMs)} ms)`, found: `${figure(ms)} ms`, isKept }
}

interface Found {
  readonly singles: readonly Course[]
  readonly levels: readonly number[]
  readonly claims: readonly Claim[]
  readonly engine: string
}

function section({ singles, levels, claims, engine }: Found): string {
  const line = (title: string, values: readonly number[]) => [
    title,
    String(values.length),
    ...[quantile(values, 0.5), quantile(values, 0.99), Math.min(...values), Math.max(...values)].map(figure),
  ]
  const rows = [
    line(
      '1x1: create sent to Succeeded',
      singles.map(({ succeededMs }) => succeededMs),
    ),
    line(
      '1x1: create sent to first write (status.jobID seen)',
      singles.map(({ firstWriteMs }) => firstWriteMs),
    ),
    line(`1x${LEVELS} chain: per level`, levels),
  ]
  return [
    '## Latency',
    'Milliseconds. Single Installations one after the other, each when the one before had come to rest; for the chain, the time of the whole divided by its levels.',
    `Reference: ${engine}.`,
    markdownTable(['', 'runs', 'p50', 'p99', 'fastest', 'slowest'], rows),
    claimsTable(claims),
  ].join('\n\n')
}

async function runSingles(stage: Stage, count: number): Promise<readonly Course[]> {
  const { kube, options, say } = stage
  const namespaces = await openNamespaces(stage, 1)
  const [namespace = ''] = namespaces.names
  const follower = await Follower.open(kube, [namespace])
  const courses: Course[] = []
  try {
    for (let index = 0; index < count; index++) {
      courses.push(await runSingle({ kube, follower, namespace, timeoutMs: options.timeoutMs }, index))
      if ((index + 1) % 20 === 0) say(`latency: ${index + 1} of ${count}`)
      await follower.silence(REST_MS)
    }
    await removeAll({ kube, follower, namespace, timeoutMs: options.timeoutMs }, count)
  } finally {
    await follower.close()
    await namespaces.close()
  }
  return courses
}

interface Place {
  readonly kube: KubeClient
  readonly follower: Follower
  readonly namespace: string
  readonly timeoutMs: number
}

/** @throws when it ended badly, or not in time. */
async function runSingle({ kube, follower, namespace, timeoutMs }: Place, index: number): Promise<Course> {
  const name = installationName(index)
  const body = installationBody(SINGLE, index, namespace)
  const begin = performance.now()
  const create = () => kube.request('POST', `/apis/${API}/namespaces/${namespace}/installations`, { body })
  const [course] = await Promise.all([follow({ follower, name, begin, timeoutMs }), create()])
  return course
}

interface Wanted {
  readonly follower: Follower
  readonly name: string
  readonly begin: number
  readonly timeoutMs: number
}

async function follow({ follower, name, begin, timeoutMs }: Wanted): Promise<Course> {
  const ended = new AbortController()
  let firstWriteAt: number | undefined
  let doneAt: number | undefined
  let last: LsObject | undefined
  const forget = follower.listen((object, isDeleted, at) => {
    if (object.metadata.name !== name || doneAt !== undefined) return
    last = object
    if (object.status?.jobID !== undefined) firstWriteAt ??= at
    if (endOf('create', object, { isDeleted, jobBefore: undefined }) === undefined) return
    doneAt = at
    ended.abort()
  })
  // Rejects as soon as it has ended.
  await sleep(timeoutMs, undefined, { signal: ended.signal }).catch(() => undefined)
  forget()
  const phase = last?.status?.phase ?? 'no phase'
  if (doneAt === undefined) throw new Error(`latency: ${name} is in ${phase} after ${timeoutMs} ms, expected Succeeded`)
  if (phase !== 'Succeeded') throw new Error(`latency: ${name} ended in ${phase}, expected Succeeded`)
  return { firstWriteMs: (firstWriteAt ?? doneAt) - begin, succeededMs: doneAt - begin }
}

async function removeAll({ kube, follower, namespace, timeoutMs }: Place, count: number): Promise<void> {
  const names = Array.from({ length: count }, (_, index) => installationName(index))
  await inParallel(names, PARALLEL, (name) =>
    kube.request('DELETE', `/apis/${API}/namespaces/${namespace}/installations/${name}`),
  )
  const deadline = performance.now() + timeoutMs
  while (follower.known.size > 0) {
    if (performance.now() > deadline) throw new Error(`latency: ${follower.known.size} were not deleted in time`)
    await follower.silence(REST_MS)
  }
}
