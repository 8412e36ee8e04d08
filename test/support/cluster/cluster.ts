// The operations of a kubectl user in one namespace, and the Landscaper objects that tests create.

import { setTimeout as sleep } from 'node:timers/promises'
import { createKubeClient, type KubeClient, type KubeObject, type ObjectList } from '../../../activities/kube/client.ts'
import { resourcePath } from '../../../activities/kube/resource-path.ts'
import { isNotFound } from '../../../activities/kube/errors.ts'

const GROUP = 'landscaper.gardener.cloud'
export const API = `${GROUP}/v1alpha1`
export const FINALIZER = `finalizer.${GROUP}`
export const OPERATION = `${GROUP}/operation`

const MANAGED_BY = `execution.${GROUP}/managed-by`
const ITEM_NAME = `execution.${GROUP}/name`
// Generous, because tests share the machine. Less than the limit of a test, so that the error names the awaited state.
const WAIT_MS = 90_000

export type Status = Readonly<Record<string, unknown>> & {
  readonly phase?: string
  readonly jobID?: string
  readonly jobIDFinished?: string
  readonly lastError?: {
    readonly operation: string
    readonly reason: string
    readonly message: string
    readonly codes?: string[]
  }
  readonly exportRef?: { readonly name: string }
  readonly observedGeneration?: number
  readonly transitionTimes?: Readonly<Record<string, string>>
}

export type LsObject = KubeObject & { readonly spec?: Readonly<Record<string, unknown>>; readonly status?: Status }

const [FIRST_MS, LONGEST_MS] = [20, 400]

/** Polls become less frequent, because each poll takes CPU from the processes under test. */
function pauses(): () => Promise<void> {
  let ms = FIRST_MS
  return async () => {
    await sleep(ms)
    ms = Math.min(ms * 1.3, LONGEST_MS)
  }
}

/** One namespace and its objects. */
export class Cluster {
  readonly kube: KubeClient
  readonly namespace: string

  constructor(kubeconfigPath: string, namespace: string) {
    this.kube = createKubeClient({ kubeconfigPath, userAgent: 'test' })
    this.namespace = namespace
  }

  async createNamespace(): Promise<void> {
    await this.kube.request('POST', '/api/v1/namespaces', { body: { metadata: { name: this.namespace } } })
  }

  async create(object: KubeObject & { readonly apiVersion: string }, plural: string): Promise<LsObject> {
    const path = resourcePath({ apiVersion: object.apiVersion, plural }, this.namespace)
    return await this.kube.request<LsObject>('POST', path, { body: object })
  }

  async get(plural: string, name: string, apiVersion = API): Promise<LsObject | undefined> {
    try {
      return await this.kube.request<LsObject>('GET', resourcePath({ apiVersion, plural }, this.namespace, name))
    } catch (error) {
      if (isNotFound(error)) return undefined
      throw error
    }
  }

  async list(plural: string, apiVersion = API): Promise<readonly LsObject[]> {
    const list = await this.kube.request<ObjectList>('GET', resourcePath({ apiVersion, plural }, this.namespace))
    return list.items
  }

  async patch(plural: string, name: string, patch: object, subresource?: string): Promise<LsObject> {
    const path = resourcePath({ apiVersion: API, plural }, this.namespace, name, subresource)
    return await this.kube.request<LsObject>('PATCH', path, {
      body: patch,
      contentType: 'application/merge-patch+json',
    })
  }

  async delete(plural: string, name: string): Promise<void> {
    await this.kube.request('DELETE', resourcePath({ apiVersion: API, plural }, this.namespace, name))
  }

  /** Deletes an Execution or DeployItem without an owner, and sets the job ID that its deletion waits for. */
  async deleteByHand(plural: string, name: string, jobID = 'delete-by-hand'): Promise<void> {
    await this.delete(plural, name)
    await this.patch(plural, name, { status: { jobID } }, 'status')
  }

  /** The deploy items of an Execution, by the name of their item. */
  async items(execution: string): Promise<ReadonlyMap<string, LsObject>> {
    const all = await this.list('deployitems')
    const own = all.filter(({ metadata }) => metadata.labels?.[MANAGED_BY] === execution)
    return new Map(own.map((object) => [object.metadata.labels?.[ITEM_NAME] ?? '', object]))
  }

  /** Phases by item. An item that has not started has none. */
  async phases(execution: string): Promise<Readonly<Record<string, string | undefined>>> {
    const items = await this.items(execution)
    return Object.fromEntries([...items].map(([name, { status }]) => [name, status?.phase]))
  }

  /** Waits until all items fulfil the condition. A missing item is undefined. */
  async waitUntilItems(
    execution: string,
    names: readonly string[],
    isExpected: (item: LsObject | undefined) => boolean,
    timeoutMs = WAIT_MS,
  ): Promise<ReadonlyMap<string, LsObject>> {
    const deadline = Date.now() + timeoutMs
    const pause = pauses()
    for (;;) {
      const items = await this.items(execution)
      if (names.every((name) => isExpected(items.get(name)))) return items
      if (Date.now() > deadline)
        throw new Error(
          `items ${names.join(', ')} of ${execution} did not reach the expected state: ${JSON.stringify([...items])}`,
        )
      await pause()
    }
  }

  /** Finishes the running job of an item, like its deployer. */
  async finishItem(item: LsObject, phase: 'Succeeded' | 'Failed' | 'DeleteFailed'): Promise<void> {
    const status = { phase, jobIDFinished: item.status?.jobID }
    await this.patch('deployitems', item.metadata.name, { status }, 'status')
  }

  /** Sets the reconcile annotation. */
  async trigger(name: string): Promise<void> {
    await this.patch('installations', name, { metadata: { annotations: { [OPERATION]: 'reconcile' } } })
  }

  /** Waits until the object has finished its newest job. @param after a previous job that does not count. */
  async waitUntilFinished(
    name: string,
    after?: string,
    plural = 'installations',
    timeoutMs = WAIT_MS,
  ): Promise<LsObject> {
    const isFinished = (object: LsObject | undefined) => {
      const { jobID, jobIDFinished } = object?.status ?? {}
      return (
        jobID !== undefined &&
        jobID === jobIDFinished &&
        jobID !== after &&
        object?.metadata.annotations?.[OPERATION] === undefined
      )
    }
    return await this.waitUntil(plural, name, isFinished, timeoutMs)
  }

  async waitUntilGone(name: string, plural = 'installations', timeoutMs = WAIT_MS): Promise<void> {
    await this.waitUntil(plural, name, (object) => object === undefined, timeoutMs)
  }

  /** Waits until the object fulfils the condition. @throws with the newest state of the object. */
  async waitUntil(
    plural: string,
    name: string,
    isExpected: (object: LsObject | undefined) => boolean,
    timeoutMs = WAIT_MS,
  ): Promise<LsObject> {
    const deadline = Date.now() + timeoutMs
    const pause = pauses()
    for (;;) {
      const object = await this.get(plural, name)
      if (isExpected(object)) return object as LsObject
      if (Date.now() > deadline)
        throw new Error(
          `${plural}/${name} did not reach the expected state in ${timeoutMs} ms: ${JSON.stringify(object, undefined, 1)}`,
        )
      await pause()
    }
  }
}

export interface Item {
  readonly name: string
  readonly type?: string
  readonly dependsOn?: readonly string[]
  readonly config?: Readonly<Record<string, unknown>>
  readonly timeout?: string
  readonly updateOnChangeOnly?: boolean
}

/** A mock item in the wire format. */
export function item({ name, type = `${GROUP}/mock`, dependsOn, config, timeout, updateOnChangeOnly }: Item) {
  return {
    name,
    type,
    config: {
      apiVersion: 'mock.deployer.landscaper.gardener.cloud/v1alpha1',
      kind: 'ProviderConfiguration',
      ...config,
    },
    ...(dependsOn !== undefined && { dependsOn }),
    ...(timeout !== undefined && { timeout }),
    ...(updateOnChangeOnly !== undefined && { updateOnChangeOnly }),
  }
}

/** A root Installation with an inline blueprint of the items. By default with the reconcile annotation. */
export function installation(
  name: string,
  items: readonly Item[],
  options: { triggered?: boolean; spec?: object; blueprint?: object; annotations?: Record<string, string> } = {},
) {
  const { triggered = true, spec = {}, blueprint = {}, annotations = {} } = options
  return {
    apiVersion: API,
    kind: 'Installation',
    metadata: { name, annotations: { ...(triggered && { [OPERATION]: 'reconcile' }), ...annotations } },
    spec: {
      ...spec,
      blueprint: { inline: { filesystem: { 'blueprint.yaml': JSON.stringify(blueprintOf(items, blueprint)) } } },
    },
  }
}

export function blueprintOf(items: readonly Item[], more: object = {}) {
  return {
    apiVersion: API,
    kind: 'Blueprint',
    deployExecutions: [
      { name: 'default', type: 'GoTemplate', template: JSON.stringify({ deployItems: items.map(item) }) },
    ],
    ...more,
  }
}

/** An item that stays in Progressing until the test finishes it. */
export function waitingItem(name: string, dependsOn?: readonly string[]): Item {
  return { name, config: { initialPhase: 'Progressing' }, ...(dependsOn !== undefined && { dependsOn }) }
}

export function failingItem(name: string, dependsOn?: readonly string[]): Item {
  return { name, config: { phase: 'Failed' }, ...(dependsOn !== undefined && { dependsOn }) }
}

/** A standalone Execution with plain items. */
export function execution(name: string, items: readonly Item[]) {
  return { apiVersion: API, kind: 'Execution', metadata: { name }, spec: { deployItems: items.map(item) } }
}

export const CHAIN: readonly Item[] = [{ name: 'a' }, { name: 'b', dependsOn: ['a'] }, { name: 'c', dependsOn: ['b'] }]
export const DIAMOND: readonly Item[] = [
  { name: 'top' },
  { name: 'left', dependsOn: ['top'] },
  { name: 'right', dependsOn: ['top'] },
  { name: 'bottom', dependsOn: ['left', 'right'] },
]
