// A client for previews: each write is sent with `dryRun=All`, and its answer is remembered, so that later reads show
// the write as if it had happened.
//
//   D1. Only GET requests are sent without `dryRun=All`: a holder of this client cannot write.
//   D2. An object that exists only in the preview is created again as a whole with each further change, so that the
//       server validates the final object.
//   D3. Further changes of an object that was already changed in the preview are not sent, because the server does not
//       know the first change.
//   D4. Writes in a Namespace that exists only in the preview are not sent, because the server refuses them: their
//       objects are not validated and have no defaults.
//   D5. Tokens of ServiceAccounts are not requested, because a dry run gets none.

import { randomUUID } from 'node:crypto'

import type { KubeClient, KubeObject, Method, ObjectList, RequestOptions } from './client.ts'
import { isNotFound, KubeError } from './errors.ts'
import { applyMergePatch } from './merge-patch.ts'

/** The effect on one object. */
export interface DryWrite {
  /** The server's state; undefined: the object does not exist. */
  readonly before: KubeObject | undefined
  /** Undefined: the object would be deleted. */
  readonly after: KubeObject | undefined
}

export interface DryRun {
  readonly client: KubeClient
  /** In the order of the first write to each. */
  writes(): readonly DryWrite[]
  /** Changes how an existing object appears to readers, without a write. */
  pretend(path: string, patch: object): Promise<void>
  /** The Namespaces with objects that the server did not validate (D4). */
  unvalidated(): readonly string[]
  /** Objects read of this plural, such as `secrets`. */
  seen(plural: string): readonly KubeObject[]
}

interface DryObject {
  readonly before: KubeObject | undefined
  readonly now: KubeObject | undefined
  readonly isWritten: boolean
}

const APPLY = 'application/apply-patch+yaml'
const SERVICE_ACCOUNT_TOKEN = /^(\/api\/v1\/namespaces\/([^/]+)\/serviceaccounts\/([^/]+))\/token$/
/** Version of objects that exist only in the preview. */
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
    unvalidated: () => room.unvalidated(),
    seen: (plural) => room.seen(plural),
  }
}

class DryRunCluster {
  readonly #kube: KubeClient
  readonly #known = new Map<string, DryObject>()
  /** The server's states, by path. */
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

  unvalidated(): readonly string[] {
    const written = [...this.#known]
      .filter(([, { isWritten }]) => isWritten)
      .map(([path]) => newNamespace(path, this.#known))
    return [...new Set(written.filter((one) => one !== undefined))]
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
        if (SERVICE_ACCOUNT_TOKEN.test(path)) return await this.#refuseToken(path)
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
    const remaining = list.items.filter((item) => {
      const at = `${path}/${item.metadata.name}`
      this.#read.set(at, item)
      return !this.#known.has(at)
    })
    const isLast = list.metadata.continue === undefined || list.metadata.continue === ''
    const own = [...this.#known].flatMap(([at, { now }]) =>
      now !== undefined && at.slice(0, at.lastIndexOf('/')) === path && isSelected(now, query) ? [now] : [],
    )
    return { ...list, items: isLast ? [...remaining, ...own] : remaining }
  }

  /** D5. @throws KubeError: 404 if the account does not exist, neither on the server nor in the preview. */
  async #refuseToken(path: string): Promise<never> {
    const [, account = '', namespace = '', name = ''] = SERVICE_ACCOUNT_TOKEN.exec(path) ?? []
    await this.#get(account, {}).catch((error: unknown) => {
      // Other errors, such as a missing right to read the account, do not change the answer.
      if (isNotFound(error)) throw error
    })
    const message = `ServiceAccount "${namespace}/${name}": a dry run gets no token`
    throw new KubeError(message, { status: 0, reason: 'DryRun' })
  }

  async #create(path: string, options: RequestOptions): Promise<unknown> {
    const body = options.body as Partial<KubeObject> | undefined
    const name = body?.metadata?.name
    const at = `${path}/${name ?? ''}`
    if (name !== undefined && this.#known.get(at)?.now !== undefined)
      throw new KubeError(`${name} already exists`, { status: 409, reason: 'AlreadyExists' })
    const made = this.#createUnsent(at, options) ?? (await this.#send('POST', path, options))
    // Answers without an object, such as reviews, are not remembered.
    if (name === undefined || (made.metadata as KubeObject['metadata'] | undefined)?.uid === undefined) return made
    return this.#put(at, { ...made, metadata: { ...made.metadata, resourceVersion: NO_VERSION } }, true)
  }

  async #change(method: 'PUT' | 'PATCH', path: string, options: RequestOptions): Promise<unknown> {
    const at = path.replace(/\/status$/, '')
    const known = this.#known.get(at)
    if (known !== undefined && known.now === undefined && options.contentType !== APPLY) return throwNotFound(at)
    if (known?.now === undefined) {
      // The state before is needed for the difference; usually it was read before.
      if (!this.#read.has(at)) await this.#get(at, {}).catch(ifMissing)
      return await this.#changeFirst(method, path, options)
    }
    const changed = (method === 'PUT' ? options.body : applyMergePatch(known.now, options.body)) as KubeObject
    if (known.before === undefined && at === path) await this.#check(at, changed, options)
    return this.#put(at, { ...changed, metadata: { ...changed.metadata, resourceVersion: versionOf(known.now) } }, true)
  }

  /** The first change of an object. Only an apply creates an object. */
  async #changeFirst(method: 'PUT' | 'PATCH', path: string, options: RequestOptions): Promise<unknown> {
    const at = path.replace(/\/status$/, '')
    const unsent = options.contentType === APPLY ? this.#createUnsent(at, options) : undefined
    const answer = unsent ?? (await this.#send(method, path, options))
    const version = answer.metadata.resourceVersion ?? ''
    const metadata = { ...answer.metadata, resourceVersion: version === '' ? NO_VERSION : version }
    return this.#put(at, { ...answer, metadata }, true)
  }

  /** D2 */
  async #check(at: string, object: KubeObject, options: RequestOptions): Promise<void> {
    if (newNamespace(at, this.#known) !== undefined) return
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

  /** D4. Undefined if the object's Namespace is not new. @param at the path of the object. */
  #createUnsent(at: string, { body }: RequestOptions): KubeObject | undefined {
    const namespace = newNamespace(at, this.#known)
    const object = body as Partial<KubeObject> | undefined
    if (namespace === undefined || object?.metadata?.name === undefined) return undefined
    const metadata = { ...object.metadata, namespace, uid: randomUUID(), generation: 1, resourceVersion: NO_VERSION }
    return { ...object, metadata }
  }

  /** D1. The server ignores the query of a deletion with options in its body. */
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

/** The Namespace of an object if it exists only in the preview; otherwise undefined. */
function newNamespace(path: string, known: ReadonlyMap<string, DryObject>): string | undefined {
  const name = /\/namespaces\/([^/]+)\/./.exec(path)?.[1]
  const found = known.get(`/api/v1/namespaces/${name ?? ''}`)
  return found?.before === undefined && found?.now !== undefined ? name : undefined
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
  throw new KubeError(`${path} does not exist any more`, { status: 404, reason: 'NotFound' })
}

function ifMissing(error: unknown): undefined {
  if (isNotFound(error)) return undefined
  throw error
}

function isList(answer: object): answer is ObjectList {
  return 'items' in answer && Array.isArray(answer.items)
}

/** The engine uses equality selectors only. */
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
