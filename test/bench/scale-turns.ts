// Part of scale: how long a single Installation takes behind very many of another namespace that were asked for before.

import type { ObjectList } from '../../activities/kube/client.ts'
import { resourcePath } from '../../activities/kube/resource-path.ts'
import { inParallel } from '../../activities/kube/in-parallel.ts'
import { setTimeout as sleep } from 'node:timers/promises'
import { API, Cluster, type LsObject } from '../support/cluster/cluster.ts'
import { openNamespaces } from './bench-namespaces.ts'
import type { Claim } from './claims.ts'
import { installationBody, installationName, type Plan } from './installations.ts'
import { count, figure, markdownTable } from './markdown.ts'
import { type PartResult, sized } from './scale-part.ts'
import type { Stage } from './stage.ts'
import { median } from './statistics.ts'

const CROWDS = [500, 5000]
const ITEMS = 5
const SINGLES = 5
const PARALLEL = 16
const LIMIT_MS = 2000
const POLL_MS = 1000

interface Found {
  readonly crowd: number
  /** Of the crowd, when the first single one was asked for, and when the last had ended. */
  readonly unfinished: readonly [before: number, after: number]
  readonly tookMs: readonly number[]
}

export async function measureTurns(stage: Stage): Promise<PartResult> {
  const found: Found[] = []
  for (const crowd of CROWDS) found.push(await measureBehind(stage, sized(crowd, stage.options.scenarioOptions.size)))
  return describe(found)
}

async function measureBehind(stage: Stage, crowd: number): Promise<Found> {
  const namespaces = await openNamespaces(stage, 2)
  const [crowded = '', calm = ''] = namespaces.names
  const cluster = new Cluster(stage.set.kubeconfigPath, calm)
  const plan: Plan = { installations: crowd, items: ITEMS, shape: 'wide', deployer: 'mock' }
  try {
    await inParallel(
      Array.from({ length: crowd }, (_, index) => index),
      PARALLEL,
      async (index) => {
        await stage.kube.request('POST', pathOf(crowded), { body: installationBody(plan, index, crowded) })
      },
    )
    const before = await unfinished(stage, crowded)
    const tookMs: number[] = []
    for (let index = 0; index < SINGLES; index++) {
      const begin = performance.now()
      await cluster.create(installationBody(plan, index, calm), 'installations')
      await cluster.waitUntilFinished(installationName(index))
      tookMs.push(performance.now() - begin)
    }
    const after = await unfinished(stage, crowded)
    stage.say(`scale: behind ${before} unfinished ones: ${tookMs.map((ms) => Math.round(ms)).join(', ')} ms`)
    await removeAll(stage, namespaces.names)
    return { crowd, unfinished: [before, after], tookMs }
  } finally {
    await cluster.kube.close()
    await namespaces.close()
  }
}

function pathOf(namespace: string): string {
  return resourcePath({ apiVersion: API, plural: 'installations' }, namespace)
}

async function installationsOf({ kube }: Stage, namespace: string): Promise<readonly LsObject[]> {
  return (await kube.request<ObjectList>('GET', pathOf(namespace))).items
}

async function unfinished(stage: Stage, namespace: string): Promise<number> {
  const all = await installationsOf(stage, namespace)
  return all.filter(({ status }) => status?.jobIDFinished === undefined).length
}

async function removeAll(stage: Stage, names: readonly string[]): Promise<void> {
  for (const name of names) await stage.kube.request('DELETE', pathOf(name))
  const deadline = performance.now() + stage.options.timeoutMs
  for (const name of names) {
    while ((await installationsOf(stage, name)).length > 0) {
      if (performance.now() > deadline) throw new Error(`turns: ${name} was not emptied in time`)
      await sleep(POLL_MS)
    }
  }
}

function describe(found: readonly Found[]): PartResult {
  const rows = found.map(({ crowd, unfinished: [before, after], tookMs }) => [
    ...[crowd, before, after].map(count),
    ...[median(tookMs), Math.max(...tookMs)].map(figure),
  ])
  const header = ['crowd', 'unfinished before', 'and after', 'median, ms', 'slowest, ms']
  const claims = found.map(({ crowd, tookMs }): Claim => ({
    sentence: `a single Installation behind ${count(crowd)} of another namespace ends within ${LIMIT_MS} ms (median)`,
    found: `${figure(median(tookMs))} ms`,
    isKept: median(tookMs) <= LIMIT_MS,
  }))
  const text = `${SINGLES} Installations of ${ITEMS} items, one after the other, in a namespace of their own, after so many were created in another one.`
  return { title: 'Turns', text: `${text}\n\n${markdownTable(header, rows)}`, claims }
}
