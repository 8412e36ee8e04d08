// Part of scale: a hundred wakes a second on one object.
//
//   K1. Touches wake the run that is open; nothing else comes of them. Reconcile annotations ask for jobs, one after the other.
//   K2. Nothing is lost: each version that a patch made is journaled, a pass is recorded after the newest of them, no wake is left,
//       and the object ends as it has to.

import { TOUCH_ANNOTATION } from '../../workflows/landscaper/contract.ts'
import { setTimeout as sleep } from 'node:timers/promises'

import { isConflict } from '../../activities/kube/errors.ts'
import { inParallel } from '../../activities/kube/in-parallel.ts'
import { Cluster, installation, type LsObject, OPERATION, waitingItem } from '../support/cluster/cluster.ts'
import { openNamespaces } from './bench-namespaces.ts'
import type { Claim } from './claims.ts'
import { JournalReader } from './journal-reader.ts'
import { count, figure, markdownTable } from './markdown.ts'
import { ProcessMeter } from './processes.ts'
import { type PartResult, sized } from './scale-part.ts'
import type { Stage } from './stage.ts'
import { sum } from './statistics.ts'

const PER_SECOND = 100
const SECONDS = 60
/** Patches of one object at a time: more hinder each other. */
const PARALLEL = 8
const CONFLICTS_LIMIT = 10
/** Of the pace; below it nothing is said about it. */
const LEAST_PACE = 0.9
const REST_LIMIT_MS = 120_000
const POLL_MS = 200

interface Storm {
  readonly title: string
  readonly patches: number
  /** From the first patch to the answer of the last. */
  readonly seconds: number
  /** Patches that made a new version. */
  readonly versions: number
  readonly journaled: number
  readonly jobs: number
  readonly passes: number
  readonly cpuSeconds: number
  /** In time. */
  readonly isAtRest: boolean
}

export async function measureWakes(stage: Stage): Promise<PartResult> {
  const namespaces = await openNamespaces(stage, 1)
  const [namespace = ''] = namespaces.names
  const cluster = new Cluster(stage.set.kubeconfigPath, namespace)
  const journal = new JournalReader(stage.set.databaseUrl)
  const place = { stage, cluster, journal }
  try {
    const storms = [await touch(place), await reconcile(place)]
    return describe(storms)
  } finally {
    await journal.close()
    await cluster.kube.close()
    await namespaces.close()
  }
}

interface Place {
  readonly stage: Stage
  readonly cluster: Cluster
  readonly journal: JournalReader
}

async function touch(place: Place): Promise<Storm> {
  const { cluster } = place
  const name = 'touched'
  await cluster.create(installation(name, [waitingItem('waits')]), 'installations')
  const object = await cluster.waitUntil('installations', name, (one) => one?.status?.phase === 'Progressing')
  const { executionRef } = object.status as { executionRef?: { name: string } }
  const execution = executionRef?.name ?? name
  await cluster.waitUntilItems(execution, ['waits'], (item) => item?.status?.phase === 'Progressing')
  const storm = await blow(place, object, (index) => ({ [TOUCH_ANNOTATION]: String(index) }))
  const [item] = (await cluster.items(execution)).values()
  if (item === undefined) throw new Error(`${name}: found no item, expected one`)
  await cluster.finishItem(item, 'Succeeded')
  expectSucceeded(await cluster.waitUntilFinished(name))
  return { ...storm, title: 'touches of an object whose job runs' }
}

async function reconcile(place: Place): Promise<Storm> {
  const { cluster } = place
  const name = 'reconciled'
  await cluster.create(installation(name, [{ name: 'one' }]), 'installations')
  const object = await cluster.waitUntilFinished(name)
  const storm = await blow(place, object, () => ({ [OPERATION]: 'reconcile' }))
  // The annotation is taken out by the job that it asked for.
  expectSucceeded(await cluster.waitUntilFinished(name, object.status?.jobID))
  return { ...storm, title: 'reconcile annotations' }
}

function expectSucceeded({ metadata, status }: LsObject): void {
  if (status?.phase !== 'Succeeded')
    throw new Error(`${metadata.name}: ended in ${status?.phase ?? 'no phase'}, expected Succeeded`)
}

/** Patches at the pace, or as fast as the server answers; measures until the engine is at rest. */
async function blow(
  { stage, cluster, journal }: Place,
  { metadata: { uid = '', name } }: LsObject,
  annotations: (index: number) => object,
): Promise<Omit<Storm, 'title'>> {
  const patches = PER_SECOND * sized(SECONDS, stage.options.scenarioOptions.size, 3)
  const before = await journal.passesOf(uid)
  const meter = new ProcessMeter(stage.set.processes)
  const begin = performance.now()
  const indexes = Array.from({ length: patches }, (_, index) => index)
  const answers = await inParallel(indexes, PARALLEL, async (index) => {
    await sleep(Math.max(0, begin + (index * 1000) / PER_SECOND - performance.now()))
    return await patchAgain(cluster, name, { metadata: { annotations: annotations(index) } })
  })
  const versions = new Set(answers.map(({ metadata }) => metadata.resourceVersion ?? ''))
  const seconds = (performance.now() - begin) / 1000
  const isAtRest = await untilRest(journal, uid, [...versions])
  const after = await journal.passesOf(uid)
  return {
    patches,
    seconds,
    versions: versions.size,
    journaled: await journal.countVersions(uid, [...versions]),
    jobs: after.jobs - before.jobs,
    passes: after.passes - before.passes,
    cpuSeconds: sum(Object.values(meter.end()).map((usage) => usage.cpuSeconds)),
    isAtRest,
  }
}

/** The server gives up on a patch when others came between five times, with a conflict. */
async function patchAgain(cluster: Cluster, name: string, patch: object): Promise<LsObject> {
  for (let left = CONFLICTS_LIMIT; ; left--) {
    try {
      return await cluster.patch('installations', name, patch)
    } catch (error) {
      if (!isConflict(error) || left === 0) throw error
    }
  }
}

/** K2. False when it did not come to that in time. */
async function untilRest(journal: JournalReader, uid: string, versions: readonly string[]): Promise<boolean> {
  const deadline = performance.now() + REST_LIMIT_MS
  while (performance.now() < deadline) {
    const isJournaled = (await journal.countVersions(uid, versions)) === versions.length
    if (isJournaled && (await journal.countWakesOf(uid)) === 0 && (await journal.isPassedAfterNewestEvent(uid)))
      return true
    await sleep(POLL_MS)
  }
  return false
}

function describe(storms: readonly Storm[]): PartResult {
  const rows = storms.map(({ title, patches, seconds, versions, jobs, passes, cpuSeconds }) => [
    title,
    figure(patches / seconds),
    ...[patches, versions, jobs, passes].map(count),
    figure(cpuSeconds),
    figure((cpuSeconds * 1000) / patches),
  ])
  const header = ['', 'per second', 'patches', 'versions', 'jobs', 'passes', 'CPU, s', 'CPU per patch, ms']
  const claims = storms.flatMap(({ title, patches, seconds, versions, journaled, isAtRest }): Claim[] => [
    {
      sentence: `${title}: they come at ${LEAST_PACE * 100} % of the pace or more`,
      found: `${figure(patches / seconds)} a second`,
      isKept: patches / seconds >= LEAST_PACE * PER_SECOND,
    },
    {
      sentence: `${title}: each version is journaled`,
      found: `${journaled} of ${versions}`,
      isKept: journaled === versions,
    },
    {
      sentence: `${title}: a pass comes after the newest event, and no wake is left`,
      found: isAtRest ? 'so' : `not so after ${REST_LIMIT_MS / 1000} s`,
      isKept: isAtRest,
    },
  ])
  const text = `Annotation patches on one Installation at ${PER_SECOND} a second. A patch that changes nothing makes no version. CPU includes the API server's for the patches.`
  return { title: 'Many wakes on one object', text: `${text}\n\n${markdownTable(header, rows)}`, claims }
}
