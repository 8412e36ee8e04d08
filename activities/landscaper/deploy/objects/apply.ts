// Applies all objects of an item to its target: class after class (placement.ts), in parallel within a class. Source: spec/landscaper.md 4.2 "Apply
// algorithm".
//
//   B1. A failing object stops neither its siblings nor the following classes; only rejected credentials do.
//   B2. Every object that was sent, or was about to be sent, is in `managed`, whatever its result.
//   B3. Custom resources wait until the definition of the same item is established; they neither fail nor disappear from `managed`.
//   B4. A kind counts as not served only after a discovery request of this run. If this request shows that the server is not a Kubernetes API server,
//       nothing is sent.

import type { KubeClient, KubeObject, Method, RequestOptions } from '../../../kube/client.ts'
import { isNotFound, KubeError } from '../../../kube/errors.ts'
import { inParallel } from '../../../kube/in-parallel.ts'
import { objectOf } from '../target/answers.ts'
import { isNotAPIServer } from '../target/api-server-check.ts'
import { describeObject, isSameKind } from '../target/read-object.ts'
import type { ServedKind, TargetCluster } from '../target/target-cluster.ts'
import { applyObject, OPERATION } from './apply-object.ts'
import type { Rejection } from './blocking-orphans.ts'
import type { ApplyLabels } from './changes.ts'
import {
  CLASSES,
  classOf,
  type DefinedKind,
  definedKinds,
  kindKey,
  type PlacementClass,
  servedKind,
  unestablished,
} from './placement.ts'
import { isCrd } from './deletion-groups.ts'
import { keysOf, type ManagedResource, managedResource, resourceKey } from './managed-resources.ts'
import { type Manifest } from './manifest.ts'
import { attempt, type Problem } from './problems.ts'
import { appliedBy, isFinished } from './run-once.ts'

const WRITES_AT_ONCE = 10

export interface ApplyInput {
  readonly target: TargetCluster
  readonly manifests: readonly Manifest[]
  readonly marks: ApplyLabels
  readonly signal: AbortSignal
  /** The job; undefined in a preview. */
  readonly jobID: string | undefined
  /** The objects in the item's status. */
  readonly remembered: readonly ManagedResource[]
}

/** All lists are in the order of the configuration, so that a repeated failure has the same message. */
export interface ApplyResult {
  /** An entry without uid is not known to exist. */
  readonly managed: readonly ManagedResource[]
  /** The applied objects as returned by the server. */
  readonly objects: readonly KubeObject[]
  /** The uids of existing objects that were changed. */
  readonly changed: ReadonlySet<string | undefined>
  /** Descriptions of the prerequisites for the remaining objects. */
  readonly pending: readonly string[]
  readonly problems: readonly Problem[]
  /** The manifests that the API server rejected, with its errors. */
  readonly rejections: readonly Rejection[]
}

/** Repeated calls write only differences. @throws DeployError when the credentials are rejected, or the server is not a Kubernetes API server. */
export async function applyManifests(input: ApplyInput): Promise<ApplyResult> {
  return await new Application(input).run()
}

class Application {
  readonly #input: ApplyInput
  readonly #own: ReadonlyMap<string, DefinedKind>
  /** By key. */
  readonly #known: ReadonlyMap<string, ManagedResource>
  readonly #uids: ReadonlySet<string | undefined>
  readonly #managed = new Map<Manifest, ManagedResource>()
  readonly #objects: KubeObject[] = []
  readonly #changed = new Set<string | undefined>()
  readonly #pending = new Map<Manifest, string>()
  readonly #problems = new Map<Manifest, Problem>()
  /** The item's definitions as returned by the server, by name. */
  readonly #definitions = new Map<string, KubeObject>()

  constructor(input: ApplyInput) {
    this.#input = input
    this.#own = definedKinds(input.manifests)
    this.#known = new Map(input.remembered.map((managed) => [resourceKey(managed.resource), managed]))
    this.#uids = new Set(input.remembered.flatMap(({ resource }) => resource.uid ?? []))
  }

  async run(): Promise<ApplyResult> {
    const manifests = this.#input.manifests.filter(({ policy }) => policy !== 'ignore')
    await this.#requestUnknownKinds(manifests)
    const placed = await inParallel(manifests, WRITES_AT_ONCE, async (manifest) => ({
      manifest,
      place: await this.#place(manifest),
    }))
    for (const one of CLASSES) {
      const ofClass = placed.filter(({ place }) => place === one)
      await inParallel(ofClass, WRITES_AT_ONCE, async ({ manifest }) => this.#apply(manifest))
      if (one === 'definition') await this.#readDefinitions()
    }
    return {
      managed: this.#ordered(this.#managed),
      objects: this.#objects,
      changed: this.#changed,
      pending: [...new Set(this.#ordered(this.#pending))],
      problems: this.#ordered(this.#problems),
      rejections: this.#rejections(),
    }
  }

  #rejections(): readonly Rejection[] {
    return [...this.#problems].flatMap(([{ object }, { cause }]) =>
      cause instanceof KubeError ? [{ object, error: cause }] : [],
    )
  }

  /** B4. One new request per group, for any number of objects whose kinds are not in the cache. */
  async #requestUnknownKinds(manifests: readonly Manifest[]): Promise<void> {
    const { target, signal } = this.#input
    const foreign = manifests.map(({ object }) => object).filter((object) => !this.#own.has(kindKey(object)))
    const kinds = [...new Map(foreign.map((object) => [kindKey(object), object])).values()]
    const answers = await inParallel(kinds, WRITES_AT_ONCE, async ({ apiVersion, kind }) => {
      const answer = await attempt(OPERATION, kind, () => target.servedKind(apiVersion, kind, signal))
      // One error for the item, instead of one for each object.
      if ('error' in answer && isNotAPIServer(answer.error)) throw answer.error
      return 'value' in answer && answer.value === undefined ? [apiVersion] : []
    })
    for (const apiVersion of new Set(answers.flat())) target.forgetKinds(apiVersion)
  }

  #ordered<One>(found: ReadonlyMap<Manifest, One>): One[] {
    return this.#input.manifests.flatMap((manifest) => found.get(manifest) ?? [])
  }

  async #place(manifest: Manifest): Promise<PlacementClass | undefined> {
    return await this.#tried(manifest, () => classOf(this.#input, manifest, this.#own))
  }

  async #apply(manifest: Manifest): Promise<void> {
    const defined = this.#own.get(kindKey(manifest.object))
    const missing = defined === undefined ? undefined : this.#unestablished(defined.crd)
    if (missing !== undefined) {
      this.#await(manifest, missing)
      return
    }
    const applied = await this.#tried(manifest, () => this.#send(manifest, defined))
    if (applied !== undefined) this.#note(manifest, applied)
  }

  async #send(manifest: Manifest, defined: DefinedKind | undefined): Promise<AppliedObject> {
    const { target, marks, signal } = this.#input
    const finished = this.#finished(manifest)
    const { apiVersion, kind } = manifest.object
    const notYet = { pending: `the target does not serve kind "${kind}" of ${apiVersion} yet` }
    for (let tried: ServedKind | undefined; ;) {
      const served =
        defined === undefined
          ? await servedKind(this.#input, manifest.object)
          : await target.servedKind(apiVersion, kind, signal)
      if (served === undefined) return notYet
      try {
        const sending = { served, manifest, marks, signal, own: this.#uids, isFinished: finished !== undefined }
        return { served, finished, object: await applyObject({ ...sending, kube: this.#observed }) }
      } catch (error) {
        if (!isNotFound(error) || error.missing?.kind === 'namespaces') throw error
        // A 404 on the path has dropped the cached kind: it may have another plural or scope now.
        const current = tried === undefined ? await target.servedKind(apiVersion, kind, signal) : served
        if (current !== undefined && !isSameKind(current, served)) tried = served
        // API servers start to serve a new kind at different times.
        else if (defined !== undefined) return notYet
        else throw error
      }
    }
  }

  /** A client that records the objects that its requests change. */
  readonly #observed: Pick<KubeClient, 'request'> = {
    request: async <T>(method: Method, path: string, options?: RequestOptions): Promise<T> => {
      const answer = await this.#input.target.kube.request<T>(method, path, options)
      const isChange = (method === 'PUT' || method === 'PATCH') && options?.query?.['dryRun'] === undefined
      if (isChange) this.#changed.add(objectOf(answer, [method, path]).metadata.uid)
      return answer
    },
  }

  #note(manifest: Manifest, sent: AppliedObject): void {
    if ('pending' in sent) {
      this.#await(manifest, sent.pending)
      return
    }
    const { object, served, finished } = sent
    if (object === undefined) {
      if (finished !== undefined) this.#managed.set(manifest, finished)
      return
    }
    this.#objects.push(object)
    if (isCrd(manifest.object)) this.#definitions.set(object.metadata.name, object)
    const known = { uid: object.metadata.uid, isNamespaced: served.namespaced }
    const applied = finished?.applied ?? appliedBy(manifest, this.#input.jobID)
    this.#managed.set(manifest, managedResource(manifest, { ...known, applied }))
  }

  /** The remembered object of the manifest, if this job does not create it again. */
  #finished(manifest: Manifest): ManagedResource | undefined {
    const known = keysOf(manifest).flatMap((key) => this.#known.get(key) ?? [])
    return known.find((managed) => isFinished(manifest, managed, this.#input.jobID))
  }

  #await(manifest: Manifest, missing: string): void {
    this.#pending.set(manifest, missing)
    this.#managed.set(manifest, managedResource(manifest, {}))
  }

  /** Reads recently written definitions again; servers establish them within milliseconds. */
  async #readDefinitions(): Promise<void> {
    const { target, signal } = this.#input
    const needed = new Set([...this.#own.values()].map(({ crd }) => crd))
    const unfinished = [...this.#definitions.values()].filter(
      ({ metadata }) => needed.has(metadata.name) && this.#unestablished(metadata.name) !== undefined,
    )
    await inParallel(unfinished, WRITES_AT_ONCE, async ({ apiVersion = '', metadata }) => {
      const path = `/apis/${apiVersion}/customresourcedefinitions/${encodeURIComponent(metadata.name)}`
      const read = async () => objectOf(await target.kube.request<unknown>('GET', path, { signal }), ['GET', path])
      const answer = await attempt(OPERATION, metadata.name, read)
      if ('value' in answer) this.#definitions.set(metadata.name, answer.value)
    })
  }

  /** The missing state of an item's own definition; undefined also if this run did not write it: then discovery decides. */
  #unestablished(crd: string): string | undefined {
    const definition = this.#definitions.get(crd)
    return definition === undefined ? undefined : unestablished(definition)
  }

  async #tried<Result>(manifest: Manifest, work: () => Promise<Result>): Promise<Result | undefined> {
    const { object } = manifest
    this.#input.signal.throwIfAborted()
    const answer = await attempt(OPERATION, describeObject({ ...object, ...object.metadata }), work)
    if ('value' in answer) return answer.value
    if (answer.error.codes.includes('ERR_UNAUTHORIZED')) throw answer.error
    this.#problems.set(manifest, answer)
    this.#managed.set(manifest, managedResource(manifest, { isRefused: answer.error.reason === 'Forbidden' }))
    return undefined
  }
}

type AppliedObject =
  | {
      readonly served: ServedKind
      readonly object: KubeObject | undefined
      readonly finished: ManagedResource | undefined
    }
  | { readonly pending: string }
