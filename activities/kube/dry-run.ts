// An API server that is only asked what writes would do: each goes out with `dryRun=All`, and its answer is remembered, so that what reads
// afterwards sees it as if it were there.
//
//   D1. Nothing but GET leaves without `dryRun=All`: who holds this client cannot write.
//   D2. What is there only here is made anew, as a whole, with each further change: the server checks what would be stored in the end.
//   D3. What was changed here already is changed further without the server, which knows nothing of the first change.

import type { KubeClient, KubeObject, Method, ObjectList, RequestOptions } from './client.ts'
import { isNotFound, KubeError } from './errors.ts'

/** What would become of one object. */
export interface DryWrite {
  /** As the server has it; undefined: it has none. */
  readonly before: KubeObject | undefined
  /** Undefined: it would be gone. */
  readonly after: KubeObject | undefined
}

export interface DryRun {
  readonly client: KubeClient
  /** In the order of the first write to each. */
  writes(): readonly DryWrite[]
  /** Lets an object look so to whoever reads, and is no write. One that is not there stays so. */
  pretend(path: string, patch: object): Promise<void>
  /** Objects that were read of a plural, such as `secrets`. */
  seen(plural: string): readonly KubeObject[]
}

interface DryObject {
  readonly before: KubeObject | undefined
  readonly now: KubeObject | undefined
  readonly isWritten: boolean
}

const APPLY = 'application/apply-patch+yaml'
/** Newer than nothing: what is only here. */
const NO_VERSION = '0'

export function dryRun(kube: KubeClient): DryRun {
  const room = new DryRunCluster(kube)
  return {
    client: {
      connection: kube.connection,
      request: async <T>(method: Method, path: string, options?: RequestOptions) =>
        (await room.request(method, path, options)) as T,
      stream: async (path, signal) => await kube.stream(path, signal),
      close: () => Promise.resolve(),
    },
    writes: () => room.writes(),
    pretend: async (path, patch) => {
      await room.pretend(path, patch)
    },
    seen: (plural) => room.seen(plural),
  }
}

class DryRunCluster {
  readonly #kube: KubeClient
  readonly #known = new Map<string, DryObject>()
  /** As the server has them, by path. */
  readonly #read = new Map<string, KubeObject>()

  constructor(kube: KubeClient) {
    this.#kube = kube
  }

  writes(): readonly DryWrite[] {
    return [...this.#known.values()].flatMap(({ before, now, isWritten }) =>
      isWritten ? [{ before, after: now }] : [],
    )
  }

  seen(plural: string): readonly KubeObject[] {
    return [...this.#read].filter(([path]) => path.split('/').at(-2) === plural).map(([, object]) => object)
  }

  async pretend(path: string, patch: object): Promise<void> {
    const found = await this.#get(path, {}).catch(ifMissing)
    const isWritten = this.#known.get(path)?.isWritten ?? false
    if (found !== undefined) this.#put(path, applyMergePatch(found, patch) as KubeObject, isWritten)
  }

  async request(method: Method, path: string, options: RequestOptions = {}): Promise<unknown> {
    switch (method) {
      case 'GET':
        return await this.#get(path, options)
      case 'POST':
        return await this.#create(path, options)
      case 'PUT':
      case 'PATCH':
        return await this.#change(method, path, options)
      case 'DELETE':
        return await this.#delete(path, options)
    }
  }

  async #get(path: string, options: RequestOptions): Promise<KubeObject> {
    const known = this.#known.get(path)
    if (known !== undefined) return known.now ?? throwNotFound(path)
    const answer = await this.#kube.request<KubeObject>('GET', path, options)
    if (isList(answer)) return this.#listed(path, answer, options) as unknown as KubeObject
    this.#read.set(path, answer)
    return answer
  }

  #listed(path: string, list: ObjectList, { query = {} }: RequestOptions): ObjectList {
    const kept = list.items.filter((item) => {
      const at = `${path}/${item.metadata.name}`
      this.#read.set(at, item)
      return !this.#known.has(at)
    })
    const isLast = list.metadata.continue === undefined || list.metadata.continue === ''
    const own = [...this.#known].flatMap(([at, { now }]) =>
      now !== undefined && at.slice(0, at.lastIndexOf('/')) === path && isSelected(now, query) ? [now] : [],
    )
    return { ...list, items: isLast ? [...kept, ...own] : kept }
  }

  async #create(path: string, options: RequestOptions): Promise<unknown> {
    const body = options.body as Partial<KubeObject> | undefined
    const name = body?.metadata?.name
    const at = `${path}/${name ?? ''}`
    if (name !== undefined && this.#known.get(at)?.now !== undefined)
      throw new KubeError(`${name} already exists`, { status: 409, reason: 'AlreadyExists' })
    const made = await this.#send('POST', path, options)
    // Answers that are no objects, such as reviews, are asked and not kept.
    if (name === undefined || (made.metadata as KubeObject['metadata'] | undefined)?.uid === undefined) return made
    return this.#put(at, { ...made, metadata: { ...made.metadata, resourceVersion: NO_VERSION } }, true)
  }

  async #change(method: 'PUT' | 'PATCH', path: string, options: RequestOptions): Promise<unknown> {
    const at = path.replace(/\/status$/, '')
    const known = this.#known.get(at)
    if (known !== undefined && known.now === undefined && options.contentType !== APPLY) return throwNotFound(at)
    if (known?.now === undefined) {
      // For the difference; most have been read before.
      if (!this.#read.has(at)) await this.#get(at, {}).catch(ifMissing)
      const answer = await this.#send(method, path, options)
      const version = answer.metadata.resourceVersion ?? ''
      const metadata = { ...answer.metadata, resourceVersion: version === '' ? NO_VERSION : version }
      return this.#put(at, { ...answer, metadata }, true)
    }
    const changed = (method === 'PUT' ? options.body : applyMergePatch(known.now, options.body)) as KubeObject
    if (known.before === undefined && at === path) await this.#check(at, changed, options)
    return this.#put(at, { ...changed, metadata: { ...changed.metadata, resourceVersion: versionOf(known.now) } }, true)
  }

  /** D2 */
  async #check(at: string, object: KubeObject, options: RequestOptions): Promise<void> {
    const metadata = without(object.metadata, 'resourceVersion', 'uid', 'managedFields')
    const asked = { ...without(options, 'contentType'), body: { ...object, metadata } }
    await this.#send('POST', at.slice(0, at.lastIndexOf('/')), asked)
  }

  async #delete(path: string, options: RequestOptions): Promise<unknown> {
    const found = await this.#get(path, {})
    if (this.#known.get(path)?.before !== undefined || this.#known.get(path) === undefined)
      await this.#send('DELETE', path, options)
    const isHeld = (found.metadata.finalizers ?? []).length > 0
    const metadata = {
      ...found.metadata,
      deletionTimestamp: found.metadata.deletionTimestamp ?? new Date().toISOString(),
    }
    const left = { ...found, metadata }
    this.#put(path, isHeld ? left : undefined, true)
    return left
  }

  /** D1. Of a deletion that says its options in a body, the server does not look at the query. */
  async #send(method: Method, path: string, options: RequestOptions): Promise<KubeObject> {
    const query = { ...options.query, dryRun: 'All' }
    const body = method === 'DELETE' ? { ...DELETION, ...(options.body ?? {}), dryRun: ['All'] } : options.body
    return await this.#kube.request<KubeObject>(method, path, { ...options, query, body })
  }

  #put(at: string, now: KubeObject | undefined, isWritten: boolean): KubeObject | undefined {
    const before = this.#known.has(at) ? this.#known.get(at)?.before : this.#read.get(at)
    this.#known.set(at, { before, now, isWritten })
    return now
  }
}

const DELETION = { apiVersion: 'v1', kind: 'DeleteOptions' }

function without<Fields extends object, Key extends keyof Fields>(
  fields: Fields,
  ...keys: readonly Key[]
): Omit<Fields, Key> {
  return Object.fromEntries(Object.entries(fields).filter(([key]) => !keys.includes(key as Key))) as Omit<Fields, Key>
}

const versionOf = ({ metadata }: KubeObject): string => metadata.resourceVersion ?? NO_VERSION

function throwNotFound(path: string): never {
  throw new KubeError(`${path} is not there any more`, { status: 404, reason: 'NotFound' })
}

function ifMissing(error: unknown): undefined {
  if (isNotFound(error)) return undefined
  throw error
}

function isList(answer: object): answer is ObjectList {
  return 'items' in answer && Array.isArray(answer.items)
}

/** Selectors of equalities are what the engine asks with. */
function isSelected(
  { metadata }: KubeObject,
  { labelSelector = '', fieldSelector = '' }: RequestOptions['query'] & object,
): boolean {
  const labels = labelSelector.split(',').filter((one) => one !== '')
  const isMeant = labels.every((one) => {
    const at = one.indexOf('=')
    return at < 0 ? metadata.labels?.[one] !== undefined : metadata.labels?.[one.slice(0, at)] === one.slice(at + 1)
  })
  return isMeant && (!fieldSelector.startsWith('metadata.name=') || fieldSelector === `metadata.name=${metadata.name}`)
}

type Fields = Readonly<Record<string, unknown>>

/** A JSON merge patch on a value. Source: RFC 7386. */
export function applyMergePatch(found: unknown, patch: unknown): unknown {
  if (!isFields(patch)) return patch
  const result = new Map(Object.entries(isFields(found) ? found : {}))
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) result.delete(key)
    else result.set(key, applyMergePatch(result.get(key), value))
  }
  return Object.fromEntries(result)
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
