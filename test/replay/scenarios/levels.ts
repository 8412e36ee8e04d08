// Scenarios of runs in level mode (test/replay/level/beacon.ts): they wait, are woken, fail, converge, clean up and
// continue as new.

import type { Client } from '@temporalio/client'
import proto from '@temporalio/proto'
import { parse } from 'yaml'

import type { KubeObject } from '../../../activities/kube/client.ts'
import { resourcePath } from '../../../activities/kube/resource-path.ts'
import { isAlreadyExists, isNotFound, KubeError } from '../../../activities/kube/errors.ts'
import { crdDocument } from '../../../worker/gen/crd.ts'
import { type Kind, workflowIDOf } from '../../../workflows/kit/index.ts'
import type { Cluster, LsObject } from '../../support/cluster/cluster.ts'
import { type Beacon, beaconKind, bulbKind } from '../level/beacon.ts'
import { type RunKind, type Scenarios, SECRET, waitUntil } from './scenario.ts'

const { EventType } = proto.temporal.api.enums.v1
const kinds: readonly RunKind[] = ['beacon']
const CONFIG_MAPS = { apiVersion: 'v1', plural: 'configmaps' }
const SECRETS = { apiVersion: 'v1', plural: 'secrets' }
const MERGE = 'application/merge-patch+json'

/** The --controllers module of the worker and of the bridge in these scenarios. */
export const LEVEL_CONTROLLERS = new URL('../level/beacon.ts', import.meta.url).pathname

export const levelScenarios: Scenarios = {
  // One run from creation to deletion: the lamp that it waits for is never created, and a user edits its ConfigMap.
  'level-life': {
    kinds,
    run: 'first',
    async play({ cluster }, name) {
      const stringData = { key: SECRET }
      await post(cluster, SECRETS, { metadata: { name, labels: { beacon: name } }, stringData })
      const beacon = await create(cluster, name, { message: 'hello', lamp: `${name}-lamp` })
      await untilStatus(cluster, name, ({ message }) => message === 'hello')
      await patch(cluster, CONFIG_MAPS, name, { data: { message: 'broken' } })
      await waitUntil(async () => dataOf(await get(cluster, CONFIG_MAPS, name))['message'] === 'hello')
      await remove(cluster, name)
      return beacon
    },
  },
  // The lamp that the run waits for is created; then the run requests more passes (spec.rounds).
  'level-converged': {
    kinds,
    run: 'first',
    async play({ cluster }, name) {
      const beacon = await create(cluster, name, { message: 'hello', lamp: `${name}-lamp`, rounds: 2 })
      await untilStatus(cluster, name, ({ message }) => message === 'hello')
      await post(cluster, CONFIG_MAPS, { metadata: { name: `${name}-lamp` }, data: { color: 'red' } })
      await untilStatus(cluster, name, ({ color, rounds }) => color === 'red' && rounds === 2)
      return beacon
    },
  },
  // After the first run has ended, a user edits its ConfigMap, which starts the run that is recorded.
  'level-edited': {
    kinds,
    async play({ cluster, client }, name) {
      const beacon = await create(cluster, name, { message: 'hello' })
      await untilStatus(cluster, name, ({ message }) => message === 'hello')
      await runOf(client, beacon).result()
      await patch(cluster, CONFIG_MAPS, name, { data: { message: 'broken' } })
      await waitUntil(async () => dataOf(await get(cluster, CONFIG_MAPS, name))['message'] === 'hello')
      return beacon
    },
  },
  // An action fails and backs off until the API server serves the kind.
  'level-failing': {
    kinds,
    run: 'first',
    async play({ cluster, client }, name) {
      const beacon = await create(cluster, name, { message: 'hello', bulb: true })
      await untilStatus(cluster, name, ({ message }) => message === 'hello')
      await waitUntil(async () => (await passesOf(client, beacon)) >= 3)
      await installKind(cluster, bulbKind)
      await waitUntil(async () => (await get(cluster, bulbKind, name)) !== undefined)
      return beacon
    },
  },
}

/** Scenarios for a Temporal server that suggests continue-as-new early. */
export const continuedLevelScenarios: Scenarios = {
  'level-continued': {
    kinds,
    run: 'first',
    async play({ cluster }, name) {
      const beacon = await create(cluster, name, { message: 'hello', rounds: 8 })
      await untilStatus(cluster, name, ({ rounds }) => rounds === 8)
      return beacon
    },
  },
}

/** Creates the CRD unless it exists, and waits until the API server serves the kind. */
export async function installKind(cluster: Cluster, kind: Kind): Promise<void> {
  const path = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
  try {
    await cluster.kube.request('POST', path, { body: parse(crdDocument(kind)) as object })
  } catch (error) {
    if (!isAlreadyExists(error)) throw error
  }
  await waitUntil(async () => {
    try {
      return (await read(cluster, resourcePath(kind, cluster.namespace))) !== undefined
    } catch (error) {
      // The API server answers HTTP 429 until it has initialized the storage of the kind.
      if (error instanceof KubeError && error.status === 429) return false
      throw error
    }
  })
}

/** Returns the number of passes of the run of an object. */
async function passesOf(client: Client, beacon: KubeObject): Promise<number> {
  const { events } = await runOf(client, beacon).fetchHistory()
  return (events ?? []).filter(({ eventType }) => eventType === EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED).length
}

function runOf(client: Client, { metadata: { namespace = '', name, uid = '' } }: KubeObject) {
  return client.workflow.getHandle(workflowIDOf('beacon', { namespace, name, uid }, ''))
}

type Resource = Pick<Kind, 'apiVersion' | 'plural'>

async function create(cluster: Cluster, name: string, spec: Beacon['spec']): Promise<LsObject> {
  const { apiVersion, kind } = beaconKind
  return await post(cluster, beaconKind, { apiVersion, kind, metadata: { name }, spec })
}

/** Deletes the Beacon, and waits until it no longer exists. */
async function remove(cluster: Cluster, name: string): Promise<void> {
  await cluster.kube.request('DELETE', resourcePath(beaconKind, cluster.namespace, name))
  await waitUntil(async () => (await get(cluster, beaconKind, name)) === undefined)
}

async function untilStatus(cluster: Cluster, name: string, isSo: (status: NonNullable<Beacon['status']>) => boolean) {
  await waitUntil(async () => isSo(((await get(cluster, beaconKind, name)) as unknown as Beacon).status ?? {}))
}

async function post(cluster: Cluster, resource: Resource, body: object): Promise<LsObject> {
  return await cluster.kube.request<LsObject>('POST', resourcePath(resource, cluster.namespace), { body })
}

async function patch(cluster: Cluster, resource: Resource, name: string, body: object): Promise<void> {
  const path = resourcePath(resource, cluster.namespace, name)
  await cluster.kube.request('PATCH', path, { body, contentType: MERGE })
}

async function get(cluster: Cluster, resource: Resource, name: string): Promise<KubeObject | undefined> {
  return await read(cluster, resourcePath(resource, cluster.namespace, name))
}

async function read(cluster: Cluster, path: string): Promise<KubeObject | undefined> {
  try {
    return await cluster.kube.request<KubeObject>('GET', path)
  } catch (error) {
    if (isNotFound(error)) return undefined
    throw error
  }
}

function dataOf(object: KubeObject | undefined): Readonly<Record<string, string>> {
  return (object?.['data'] ?? {}) as Readonly<Record<string, string>>
}
