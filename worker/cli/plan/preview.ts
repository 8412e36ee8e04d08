// Previews the effect of manifests: runs the plans of their controllers with the user's permissions and sends every
// write as a dry run.
//
//   R1. All requests use one client that turns writes into dry runs (activities/kube/dry-run.ts); clients for targets
//       do the same.
//   R2. There is no journal: records are dropped, and queries return nothing.

import { ApplicationFailure } from '@temporalio/common'

import { createActivities, openWing, type OpenWing } from '../../../activities/index.ts'
import { createEmptyJournal } from '../../../activities/journal/empty-journal.ts'
import type { KubeClient, KubeObject } from '../../../activities/kube/client.ts'
import { resourcePath } from '../../../activities/kube/resource-path.ts'
import { type DryRun, dryRun, type DryWrite } from '../../../activities/kube/dry-run.ts'
import { KubeError, toApplicationFailure } from '../../../activities/kube/errors.ts'
import { ObjectCache } from '../../../activities/kube/object-cache.ts'
import { InFlightRuns } from '../../../activities/run/in-flight-runs.ts'
import type { Importer, ItemPreview } from '../../../activities/run/preview.ts'
import {
  done,
  type DryRunJob,
  groupKindOf,
  isSameGroupKind,
  type JobModeController,
  ownerOfKind,
  type Runtime,
  type Subject,
} from '../../../workflows/kit/index.ts'
import type { GivenFlags } from '../../server/flags.ts'
import { builtInRegistry, wingOf } from '../../server/registry.ts'
import { readWingFlags, enabledWings } from '../../server/wings.ts'
import { CLI_USER_AGENT } from '../user.ts'
import type { Document } from './documents.ts'
import { isNotFound } from '../../../activities/kube/kube-error.ts'

/** The result of applying a document. */
interface AppliedDocument {
  readonly at: string
  readonly object: KubeObject
  readonly namespace: string
  /** The API server's reason for refusing the document. */
  readonly refused?: string
}

export interface Preview {
  readonly applied: readonly AppliedDocument[]
  /** On the cluster of the objects. */
  readonly writes: readonly DryWrite[]
  readonly jobs: readonly DryRunJob[]
  /** The roots of the documents that a user can reconcile, and whose applied state starts no job. */
  readonly idleRoots: readonly Root[]
  /** The deployers' previews, by namespace and name of the item's object. */
  readonly works: readonly (ItemPreview & { readonly namespace: string })[]
  /** Existing objects that import applied objects. */
  readonly importers: readonly Importer[]
  /** The API server's reasons why importers are unknown, by namespace. */
  readonly unknownImporters: ReadonlyMap<string, string>
  /** Secrets that were read, and Secrets in the documents. */
  readonly secrets: readonly KubeObject[]
  /** Namespaces that the documents create: the API server did not validate the objects in them. */
  readonly unvalidated: readonly string[]
  readonly incidental: readonly string[]
  readonly concealed: Readonly<Record<string, readonly string[]>>
  readonly internal: readonly string[]
  readonly internalOfChildren: Readonly<Record<string, readonly string[]>>
}

export type Root = Omit<Importer, 'imports'>

const JOB_ID = 'plan'
/** Fields that the API server sets; they are never applied. */
const SERVER_FIELDS = new Set(['managedFields', 'resourceVersion', 'uid'])
const APPLY = { contentType: 'application/apply-patch+yaml' }

/** @param namespace default namespace of objects. @throws KubeError if the API server does not answer. */
export async function previewDocuments(
  kube: KubeClient,
  documents: readonly Document[],
  { namespace, given: fields }: { readonly namespace: string; readonly given: GivenFlags },
): Promise<Preview> {
  const dryRunClient = dryRun(kube)
  const wings = openWings(dryRunClient, fields)
  try {
    const applied = await applyAll(dryRunClient, documents, namespace)
    const jobs: DryRunJob[] = []
    const itemPreviews: (ItemPreview & { readonly namespace: string })[] = []
    for (const one of applied) {
      if (one.refused !== undefined) continue
      const controller = controllerOf(one.object)
      const wing = controller && wings.get(wingOf(controller.name) ?? '')
      if (controller === undefined || wing === undefined) continue
      const subject = {
        ...groupKindOf(controller.target),
        uid: one.object.metadata.uid ?? '',
        namespace: one.namespace,
        name: one.object.metadata.name,
      }
      const job = await previewJob(dryRunClient, wing.act, controller, subject)
      if (job !== undefined) jobs.push(job)
      const names = job === undefined ? [subject.name] : itemsIn(job)
      const { foresight } = wing.opened
      if (foresight !== undefined && names.length > 0)
        itemPreviews.push(
          ...(await foresight.foreseeItems(one.namespace, names)).map((work) => ({
            ...work,
            namespace: one.namespace,
          })),
        )
    }
    const imported = await findImporters(wings, applied)
    const displayRules = [...wings.values()].flatMap(({ opened }) => opened.foresight ?? [])
    const secrets = [
      ...dryRunClient.seen('secrets'),
      ...documents.map(({ object }) => object).filter(({ kind }) => kind === 'Secret'),
    ]
    return {
      applied,
      writes: dryRunClient.writes(),
      jobs,
      idleRoots: idleRootsIn(applied),
      works: itemPreviews,
      ...imported,
      secrets,
      unvalidated: dryRunClient.unvalidated(),
      incidental: displayRules.flatMap(({ incidental }) => incidental),
      concealed: Object.assign({}, ...displayRules.map(({ concealed }) => concealed)) as Preview['concealed'],
      internal: displayRules.flatMap(({ internal }) => internal),
      internalOfChildren: Object.assign(
        {},
        ...displayRules.map(({ internalOfChildren }) => internalOfChildren),
      ) as Preview['internalOfChildren'],
    }
  } finally {
    await Promise.all([...wings.values()].map(({ opened }) => opened.close()))
  }
}

async function findImporters(
  wings: ReadonlyMap<string, PlanningWing>,
  applied: readonly AppliedDocument[],
): Promise<Pick<Preview, 'importers' | 'unknownImporters'>> {
  const importers: Importer[] = []
  const unknownImporters = new Map<string, string>()
  const written = applied.filter(({ refused }) => refused === undefined)
  for (const namespace of new Set(written.map((one) => one.namespace))) {
    const objects = written.filter((one) => one.namespace === namespace).map(({ object }) => object)
    for (const { opened } of wings.values()) {
      const found = await importersIn(opened, namespace, objects)
      if (typeof found === 'string') unknownImporters.set(namespace, found)
      else importers.push(...found)
    }
  }
  return { importers, unknownImporters }
}

/** The importers, or why the API server does not show them. */
async function importersIn(
  { foresight }: PlanningWing['opened'],
  namespace: string,
  objects: readonly KubeObject[],
): Promise<readonly Importer[] | string> {
  try {
    return (await foresight?.importersOf(namespace, objects)) ?? []
  } catch (error) {
    // Without the CRD no object can import.
    if (isNotFound(error)) return []
    if (!(error instanceof KubeError) || error.status === 0) throw error
    return error.message
  }
}

/** The items of a job and of its nested jobs, without items that are uninstalled. */
function itemsIn({ items, jobs }: DryRunJob): readonly string[] {
  return [...items.filter(({ uninstalls }) => !uninstalls).map(({ name }) => name), ...jobs.flatMap(itemsIn)]
}

interface PlanningWing {
  readonly opened: OpenWing
  /** The wing's activities, which the plans call. */
  readonly act: object
}

function openWings(dryRunClient: DryRun, fields: GivenFlags): ReadonlyMap<string, PlanningWing> {
  const now = () => new Date()
  const { controllers, subjectKinds, modes, route } = builtInRegistry
  const deps = {
    cluster: 'local',
    kube: dryRunClient.client,
    ...createEmptyJournal(),
    objects: new ObjectCache(),
    inFlightRuns: new InFlightRuns(now),
    controllers,
    subjectKinds,
    modes,
    route,
    contentKey: undefined,
    now,
    log: { info: () => undefined, warn: () => undefined },
  }
  const flags = readWingFlags(enabledWings(undefined), fields)
  return new Map(
    [...flags].flatMap(([name, values]) => {
      const opened = openWing(name, deps, values)
      return opened === undefined ? [] : [[name, { opened, act: createActivities(deps, [opened.activities]) }] as const]
    }),
  )
}

async function applyAll(
  dryRunClient: DryRun,
  documents: readonly Document[],
  namespace: string,
): Promise<readonly AppliedDocument[]> {
  const resources = new Resources(dryRunClient.client)
  const applied: AppliedDocument[] = []
  for (const { at, object } of documents) {
    const place = await resources.placeOf(object, namespace)
    const of = { at, object, namespace: place?.namespace ?? namespace }
    if (place === undefined) {
      applied.push({
        ...of,
        refused: `the cluster has no kind "${object.kind}" in "${object.apiVersion}"; install its CRD, or correct apiVersion and kind`,
      })
      continue
    }
    const fields = Object.entries(object.metadata).filter(([field]) => !SERVER_FIELDS.has(field))
    const metadata = Object.fromEntries(fields)
    const within = place.namespace === '' ? {} : { namespace: place.namespace }
    const body = { ...object, metadata: { ...metadata, ...within } }
    // As `kubectl apply --server-side --force-conflicts`.
    const query = { fieldManager: CLI_USER_AGENT, force: 'true', fieldValidation: 'Strict' }
    try {
      const made = await dryRunClient.client.request<KubeObject>('PATCH', place.path, { ...APPLY, query, body })
      applied.push({ ...of, object: made })
    } catch (error) {
      if (!(error instanceof KubeError) || error.status === 0) throw error
      applied.push({ ...of, refused: error.message })
    }
  }
  return applied
}

function controllerOf({ apiVersion = '', kind = '' }: KubeObject): JobModeController | undefined {
  const asked = groupKindOf({ apiVersion, kind })
  const found = [...builtInRegistry.controllers.values()].find((one) => isSameGroupKind(groupKindOf(one.target), asked))
  return found?.mode === 'job' ? found : undefined
}

/** The roots whose applied state starts no job, and which `pawl reconcile` can start. */
function idleRootsIn(applied: readonly AppliedDocument[]): readonly Root[] {
  return applied.flatMap(({ object, namespace, refused }) => {
    const controller = refused === undefined ? controllerOf(object) : undefined
    if (controller === undefined || !isIdleRoot(controller, object)) return []
    return [{ kind: controller.target.kind, namespace, name: object.metadata.name }]
  })
}

function isIdleRoot({ steering, requestedRun }: JobModeController, object: KubeObject): boolean {
  if (steering?.reconcile === undefined) return false
  const isRoot = steering.parent === undefined || ownerOfKind(object, steering.parent) === undefined
  return isRoot && 'none' in requestedRun(object, false)
}

/** Undefined if the controller has no preview. */
async function previewJob(
  dryRunClient: DryRun,
  activities: object,
  { name, dryRun: previewPlan, target }: JobModeController,
  subject: Subject,
): Promise<DryRunJob | undefined> {
  if (previewPlan === undefined) return undefined
  const by = { workflowID: `${name}/${JOB_ID}`, runID: JOB_ID, pass: 1 }
  const pretendStatus = async ({ namespace, name: of }: Subject, status: object) => {
    await dryRunClient.pretend(resourcePath(target, namespace, of), { status })
  }
  // The types of the plan's activities are known to the controller only; createActivities provides all of them.
  const act = { ...activities, pretendStatus } as never
  return await previewPlan(act, { by, subject, jobID: JOB_ID, runtime: PREVIEW_RUNTIME })
}

/** Runs a pass outside of Temporal: it never waits, and failures become faults. */
const PREVIEW_RUNTIME: Runtime = {
  sleep: () => Promise.resolve(),
  withTimeout: async (_ms, body) => await body(),
  toOutcome(error) {
    const failure = error instanceof KubeError ? toApplicationFailure(error) : error
    if (!(failure instanceof ApplicationFailure)) return undefined
    const fault = {
      code: failure.type ?? 'Unknown',
      message: failure.message,
      retryable: failure.nonRetryable !== true,
    }
    return { ...done, faults: [fault] }
  },
}

// Finds the resource and scope of kinds by API discovery.

interface ApiResource {
  readonly name: string
  readonly kind: string
  readonly namespaced: boolean
}

type Place = Readonly<Record<'apiVersion' | 'kind', string>>

class Resources {
  readonly #kube: Pick<KubeClient, 'request'>
  readonly #served = new Map<string, Promise<readonly ApiResource[]>>()

  constructor(kube: Pick<KubeClient, 'request'>) {
    this.#kube = kube
  }

  /** @param namespace default namespace of objects. @returns undefined if the server does not know the kind. */
  async placeOf(object: KubeObject & Place, namespace: string): Promise<ObjectPlace | undefined> {
    const { apiVersion, kind, metadata } = object
    const found = (await this.#kinds(apiVersion)).find((one) => one.kind === kind && !one.name.includes('/'))
    if (found === undefined) return undefined
    const within = found.namespaced ? (metadata.namespace ?? namespace) : undefined
    const path = resourcePath({ apiVersion, plural: found.name }, within, metadata.name)
    return { path, namespace: within ?? '' }
  }

  async #kinds(apiVersion: string): Promise<readonly ApiResource[]> {
    const known = this.#served.get(apiVersion)
    if (known !== undefined) return await known
    const path = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`
    const asked = this.#kube.request<{ readonly resources: readonly ApiResource[] }>('GET', path).then(
      ({ resources }) => resources,
      (error: unknown) => {
        if (isNotFound(error)) return []
        throw error
      },
    )
    this.#served.set(apiVersion, asked)
    return await asked
  }
}

interface ObjectPlace {
  readonly path: string
  /** Empty for cluster-scoped objects. */
  readonly namespace: string
}
