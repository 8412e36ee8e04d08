// Makes the plan of a preview, which `pawl plan` prints as text (plan-text.ts) or as JSON. Pure.

import type { KubeObject } from '../../../activities/kube/client.ts'
import type { DryWrite } from '../../../activities/kube/dry-run.ts'
import { type DryRunJob, groupKindOf, joinNames } from '../../../workflows/kit/index.ts'
import { singleLine } from '../query/format.ts'
import { expectedName, similarName } from '../suggestion.ts'
import { type Change, changesOf, maskSecrets, type DisplayRules } from './object-changes.ts'
import type { Importer } from '../../../activities/run/preview.ts'
import type { Preview, Root } from './preview.ts'

export type State = 'new' | 'changed' | 'unchanged' | 'deleted'

export interface PlannedWrite {
  readonly state: State
  readonly kind: string
  readonly namespace: string
  readonly name: string
  /** The Target and the item of the write; absent for writes on the cluster of the objects. */
  readonly target?: string
  readonly item?: string
  readonly changes: readonly Change[]
  /**
   * `manifest`: an object of the files; `child`: an object that Pawl creates for them; `internal`: a child that holds
   * only bookkeeping; absent for objects on Targets.
   */
  readonly origin?: 'manifest' | 'child' | 'internal'
  /** The existing roots that import the changed object and are not in the files. */
  readonly importedBy?: readonly Root[]
}

export interface PlannedJob {
  readonly kind: string
  readonly namespace: string
  readonly name: string
  readonly end: DryRunJob['end']
  readonly told?: string
  readonly expectedMs?: number
  readonly items: readonly {
    readonly item: string
    readonly type: string
    readonly level: number
    readonly state: State | 'orphaned'
    readonly problem?: string
    readonly unknown?: string
    readonly warning?: string
  }[]
  readonly jobs: readonly PlannedJob[]
}

export interface Plan {
  /** Documents that the API server refuses. */
  readonly refused: readonly {
    readonly at: string
    readonly kind: string
    readonly name: string
    readonly problem: string
  }[]
  readonly writes: readonly PlannedWrite[]
  readonly jobs: readonly PlannedJob[]
  /** Roots of the files that have changes, and whose job applying the files does not start. */
  readonly toReconcile: readonly Root[]
  /** New Namespaces: the API server did not validate the objects in them. */
  readonly unvalidated: readonly string[]
  /** Problems of items that belong to no job of the plan. */
  readonly problems: readonly { readonly item: string; readonly problem: string }[]
  /** Why Pawl does not know the objects that import the changed objects of a namespace. */
  readonly unknownImporters: readonly { readonly namespace: string; readonly reason: string }[]
  /** The same as `problems` for warnings. */
  readonly warnings: readonly { readonly item: string; readonly warning: string }[]
}

/** The key of an object: objects of several kinds may have the same name. */
export function objectKey({ group = '', kind, namespace, name }: Omit<DryRunJob['subject'], 'uid'>): string {
  return [group, kind, namespace, name].join('/')
}

/** @param expected durations by `objectKey` of the job's object. */
export function createPlan(preview: Preview, secrets: readonly string[], expected: ReadonlyMap<string, number>): Plan {
  const showing = { ...preview, secrets }
  const text = (one: string) => maskSecrets(singleLine(one), showing)
  const manifests = new Set(preview.applied.map(({ object }) => writeKey({ after: object })))
  const onTarget = new Set(
    preview.works.flatMap(({ namespace, name, writes }) => writes.map(() => `${namespace}/${name}`)),
  )
  const shownElsewhere = new Set(preview.jobs.flatMap((job) => keysIn(job, onTarget)))
  const own = preview.writes.map((write): PlannedWrite => {
    if (!manifests.has(writeKey(write))) return plannedChild(write, preview, { showing, shownElsewhere })
    const planned = plannedWrite(write, showing)
    const importedBy = planned.state === 'unchanged' ? [] : importersOf(planned, preview)
    return { ...planned, origin: 'manifest', ...(importedBy.length > 0 && { importedBy }) }
  })
  const states = new Map(own.map((one, index) => [writeKey(preview.writes[index]), one.state]))
  const works = preview.works.map((one) => ({ ...one, ...typeProblem(one) }))
  const itemPreviews = new Map(works.map((one) => [`${one.namespace}/${one.name}`, one]))
  const inJobs = new Set<string>()
  const plannedJob = ({ subject, end, told: reason, items, jobs }: DryRunJob): PlannedJob => {
    const { kind, namespace, name } = subject
    const expectedMs = expected.get(objectKey(subject))
    return {
      kind,
      namespace,
      name,
      end,
      ...(reason !== undefined && { told: text(reason) }),
      ...(expectedMs !== undefined && { expectedMs }),
      items: items.map((one) => {
        const key = `${namespace}/${one.name}`
        inJobs.add(key)
        const { problem, unknown, warning } = itemPreviews.get(key) ?? {}
        return {
          item: one.item,
          type: one.type,
          level: one.level,
          state: one.uninstalls
            ? ('orphaned' as const)
            : (states.get(objectKey({ ...one, namespace })) ?? ('unchanged' as const)),
          ...(problem !== undefined && { problem: text(problem) }),
          ...(unknown !== undefined && { unknown: text(unknown) }),
          ...(warning !== undefined && { warning: text(warning) }),
        }
      }),
      jobs: jobs.map(plannedJob),
    }
  }
  const jobs = preview.jobs.map(plannedJob)
  const onTargets = preview.works.flatMap(({ target, name, writes }) =>
    writes.map((write) => ({ ...plannedWrite(write, showing), ...(target !== undefined && { target }), item: name })),
  )
  return {
    refused: preview.applied.flatMap(({ at, object, refused }) =>
      refused === undefined
        ? []
        : [{ at, kind: object.kind ?? '', name: object.metadata.name, problem: text(refused) }],
    ),
    writes: [...own, ...onTargets],
    jobs,
    toReconcile: preview.idleRoots.filter((root) => hasChanges(root, { jobs, own, importers: preview.importers })),
    unvalidated: preview.unvalidated,
    unknownImporters: [...preview.unknownImporters].map(([namespace, reason]) => ({ namespace, reason: text(reason) })),
    problems: preview.works.flatMap(({ namespace, name, problem }) =>
      problem === undefined || inJobs.has(`${namespace}/${name}`) ? [] : [{ item: name, problem: text(problem) }],
    ),
    warnings: works.flatMap(({ namespace, name, warning }) =>
      warning === undefined || inJobs.has(`${namespace}/${name}`) ? [] : [{ item: name, warning: text(warning) }],
    ),
  }
}

interface ChildDisplay {
  readonly showing: DisplayRules
  /** Keys of objects whose content the plan shows in another place. */
  readonly shownElsewhere: ReadonlySet<string>
}

/** A write of an object that Pawl creates for an object of the files. */
function plannedChild(write: DryWrite, preview: Preview, { showing, shownElsewhere }: ChildDisplay): PlannedWrite {
  const { kind = '' } = write.after ?? write.before ?? {}
  const internal = [
    ...showing.internal,
    ...CHILD_FIELDS,
    ...(preview.internalOfChildren[kind] ?? []),
    ...(write.before === undefined && shownElsewhere.has(writeKey(write)) ? ['spec'] : []),
  ]
  const origin = preview.internalOfChildren[kind] === undefined ? 'child' : 'internal'
  return { ...plannedWrite(write, { ...showing, internal }), origin }
}

interface PlannedChanges extends Pick<Preview, 'importers'> {
  readonly jobs: readonly PlannedJob[]
  /** On the cluster of the objects. */
  readonly own: readonly PlannedWrite[]
}

/** True if the spec of the root, one of its imports or one of its items changes. */
function hasChanges(root: Root, { jobs, own, importers }: PlannedChanges): boolean {
  const isRoot = (one: Root) => one.kind === root.kind && one.namespace === root.namespace && one.name === root.name
  const imports = importers.filter(isRoot).flatMap((one) => one.imports)
  return (
    jobs.some((job) => isRoot(job) && changesItems(job)) ||
    own.some(({ kind, namespace, name, state, changes }) => {
      if (isRoot({ kind, namespace, name }))
        return state === 'new' || changes.some(({ field }) => /^spec\b/.test(field))
      return state !== 'unchanged' && namespace === root.namespace && imports.includes(`${kind} ${name}`)
    })
  )
}

function changesItems({ items, jobs }: PlannedJob): boolean {
  return items.some(({ state }) => state !== 'unchanged') || jobs.some(changesItems)
}

/** Without importers in the files: the plan shows their jobs. */
function importersOf({ kind, namespace, name }: PlannedWrite, preview: Preview): readonly Root[] {
  const isInFiles = (one: Importer) =>
    preview.applied.some(
      ({ object, namespace: within }) =>
        object.kind === one.kind && within === one.namespace && object.metadata.name === one.name,
    )
  return preview.importers
    .filter((one) => one.namespace === namespace && one.imports.includes(`${kind} ${name}`) && !isInFiles(one))
    .map(({ kind: importing, namespace: within, name: importer }) => ({
      kind: importing,
      namespace: within,
      name: importer,
    }))
}

/** Fields that Pawl sets in the objects that it creates. */
const CHILD_FIELDS = ['apiVersion', 'kind', 'metadata']

/** The keys of a job's object and of its items with objects on Targets; both also of nested jobs. */
function keysIn({ subject, items, jobs }: DryRunJob, onTarget: ReadonlySet<string>): readonly string[] {
  const { namespace } = subject
  return [
    objectKey(subject),
    ...items.filter(({ name }) => onTarget.has(`${namespace}/${name}`)).map((one) => objectKey({ ...one, namespace })),
    ...jobs.flatMap((job) => keysIn(job, onTarget)),
  ]
}

const MAX_TYPES = 8

/** For an item whose type has no deployer of Pawl: a warning if the user probably misspelt a type. */
function typeProblem({ unhandled }: Preview['works'][number]): {
  readonly unknown?: string
  readonly warning?: string
} {
  if (unhandled === undefined) return {}
  const { type, handled } = unhandled
  const problem = `spec.type: Pawl has no deployer for type "${type}"`
  const types = `Pawl handles the types ${joinNames(handled, MAX_TYPES)}; another type needs its own deployer`
  return similarName(type, handled) === undefined
    ? { unknown: `${problem}; ${types}` }
    : { warning: `${problem}; ${expectedName(type, handled)} ${types}` }
}

function writeKey({ before, after = before }: Partial<DryWrite> = {}): string {
  const { apiVersion = '', kind = '', metadata } = after ?? { metadata: { name: '' } }
  return objectKey({ ...groupKindOf({ apiVersion, kind }), namespace: metadata.namespace ?? '', name: metadata.name })
}

function plannedWrite(write: DryWrite, showing: DisplayRules): PlannedWrite {
  const object: KubeObject | undefined = write.after ?? write.before
  const changes = changesOf(write, showing)
  const { kind = '', metadata } = object ?? { metadata: { name: '' } }
  return { state: stateOf(write, changes), kind, namespace: metadata.namespace ?? '', name: metadata.name, changes }
}

function stateOf({ before, after }: DryWrite, changes: readonly Change[]): State {
  if (before === undefined) return 'new'
  const isLeaving = after?.metadata.deletionTimestamp !== undefined && before.metadata.deletionTimestamp === undefined
  if (after === undefined || isLeaving) return 'deleted'
  return changes.length === 0 ? 'unchanged' : 'changed'
}

/** 0: nothing would change; 1: something is refused or would fail; 3: something would change. */
export function exitCodeOf({ refused, writes, jobs, problems }: Plan): 0 | 1 | 3 {
  const fails = (job: PlannedJob): boolean =>
    job.end === 'fails' || job.items.some(({ problem }) => problem !== undefined) || job.jobs.some(fails)
  if (refused.length > 0 || problems.length > 0 || jobs.some(fails)) return 1
  return writes.some(({ state }) => state !== 'unchanged') ? 3 : 0
}
