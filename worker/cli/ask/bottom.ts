// What a job waits for, from object to object down to the one at the bottom, in sentences. Pure.

import { path, textAt } from '../../../workflows/kit/index.ts'
import { hasFailed, isOpen, type JobNode, phaseOf } from './job-tree.ts'
import { deletionIn, errorText, nameOf, shown } from './texts.ts'

/** From the root down to where nothing below explains it: what has failed first, then what is open, then what cannot go. */
export function pathToBottom(root: JobNode): readonly JobNode[] {
  const next =
    root.children.find(hasFailed) ??
    root.children.find(isOpen) ??
    root.children.find(({ object }) => !object.deleted && deletionIn(object.projection) !== undefined)
  const needsOne =
    hasFailed(root) || isOpen(root) || (!root.object.deleted && deletionIn(root.object.projection) !== undefined)
  return next === undefined || !needsOne ? [root] : [root, ...pathToBottom(next)]
}

export interface Surroundings {
  /** The awaited objects, by name, that the journal has and that live. */
  readonly there: ReadonlySet<string>
  readonly wake: string | undefined
  readonly attempt: number
  /** What the nearest above says of it. */
  readonly above: string | undefined
}

/** The error of the nearest on the way down that has one: of items the journal keeps none. */
export function errorAbove(way: readonly JobNode[]): string | undefined {
  const teller = way.slice(0, -1).findLast(({ job }) => errorText(job?.lastError) !== undefined)
  return teller && `${nameOf(teller.object)} says: ${errorText(teller.job?.lastError) ?? ''}.`
}

/** Why the object at the bottom stands where it stands; one sentence each. */
export function reasonsOf(node: JobNode, { there, wake, attempt, above }: Surroundings): readonly string[] {
  const { object, job, awaited } = node
  const name = nameOf(object)
  const error = errorText(job?.lastError)
  const isAtWork = isOpen(node)
  return [
    ...(hasFailed(node) ? [`${name} is ${phaseOf(node)}${error === undefined ? '' : `: ${error}`}.`] : []),
    ...(hasFailed(node) && error === undefined && above !== undefined ? [above] : []),
    ...(isAtWork && error !== undefined
      ? [`${name} met an error and tries again${attempt > 0 ? ` (attempt ${attempt})` : ''}: ${error}.`]
      : []),
    ...(isAtWork
      ? awaited.map((one) => {
          const state = there.has(nameOf(one)) ? 'which is there' : 'which the journal does not have'
          return `${name} waits for ${nameOf(one)} since ${one.since.toISOString()}, ${state}.`
        })
      : []),
    ...(isAtWork ? pickup(node) : []),
    ...blocked(node),
    ...(wake === undefined ? [] : [`The next look at ${name} is due: ${wake}.`]),
  ].map((sentence) => shown(sentence, 2000))
}

function pickup({ object, job }: JobNode): readonly string[] {
  const type = textAt(object.projection, path('spec.type'))
  if (type === undefined || job !== undefined) return []
  const since = textAt(object.projection, path('status.jobIDGenerationTime'))
  const picked = textAt(object.projection, path('status.lastReconcileTime'))
  if (picked !== undefined && since !== undefined && Date.parse(picked) >= Date.parse(since))
    return [`The deployer of type ${type} works on ${nameOf(object)} since ${picked}.`]
  return [
    `No deployer has picked ${nameOf(object)} up${since === undefined ? '' : ` since ${since}`}: see whether one that serves its type, ${type}, runs.`,
  ]
}

function blocked({ object }: JobNode): readonly string[] {
  const deletion = object.deleted ? undefined : deletionIn(object.projection)
  if (deletion === undefined) return []
  const { since, finalizers } = deletion
  const why =
    finalizers.length === 0
      ? 'no finalizer holds it'
      : `it goes when these finalizers are gone: ${finalizers.join(', ')}`
  return [`${nameOf(object)} is being deleted since ${since}; ${why}.`]
}
