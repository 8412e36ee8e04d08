// `pawl delete` of an object whose kind has no jobs, such as a Target: it deletes the object, and reports the finalizers and Events that explain why the
// object still exists.

import type { KubeObject } from '../../../activities/kube/client.ts'
import { isNotFound } from '../../../activities/kube/kube-error.ts'
import { resourcePath } from '../../../activities/kube/resource-path.ts'
import { groupKindOf, groupKindText, isSameGroupKind, type LevelTarget } from '../../../workflows/kit/index.ts'
import type { NamedKind } from '../../plans/find-plans.ts'
import { builtInRegistry } from '../../server/registry.ts'
import { UsageError } from '../../server/usage-error.ts'
import { explainStatus, ownFinalizer } from '../query/explain-status.ts'
import { quotedName, singleLine } from '../query/format.ts'
import { missingInCluster } from '../missing-object.ts'
import { newestEvents } from '../live-objects.ts'
import { withUserClient, userName } from '../user.ts'
import { finalizerLine, finalizersOf, HELD_UP, isHeldByOthers } from './blockers.ts'
import { type CommandResult, type SteerFlags, formatResults } from './open-object.ts'
import type { DeletionState } from './wait-for-deletion.ts'

interface DeleteFlags extends SteerFlags {
  readonly withoutUninstall?: boolean
  readonly force?: boolean
}

/** Controllers emit an Event within this time after the deletion. */
const EVENTS_WAIT_MS = 1500
const MAX_EVENTS = 3

/** @param resultOf reads the state of the deletion once or until the object is gone. @throws UsageError for options that need jobs; an Error if the object does not exist; KubeError */
export async function deleteWithoutJobs(
  { kind, name }: { readonly kind: NamedKind; readonly name: string },
  flags: DeleteFlags,
  resultOf: (read: () => Promise<DeletionState>) => Promise<CommandResult>,
): Promise<void> {
  for (const [option, isGiven] of [
    ['--without-uninstall', flags.withoutUninstall],
    ['--force', flags.force],
  ] as const)
    if (isGiven === true)
      throw new UsageError(
        `${option}: kind "${kind.kind}" has no jobs; expected a kind with jobs, such as Installation`,
      )
  await withUserClient(flags, async (kube, namespace) => {
    const place = targetOf(kind).withoutNamespace === true ? '' : namespace
    const path = resourcePath(kind, place, name)
    const read = async () =>
      await kube.request<KubeObject>('GET', path).catch((error: unknown) => {
        if (isNotFound(error)) return undefined
        throw error
      })
    const title = quotedName({ kind: kind.kind, namespace: place, name })
    const object = await read()
    if (object === undefined)
      throw new Error(await missingInCluster(kube, { kind: kind.kind, api: kind }, { namespace: place, name }))
    const { uid } = object.metadata
    const isNew = object.metadata.deletionTimestamp === undefined
    const by = await userName(kube)
    if (isNew)
      await kube.request('DELETE', path, { body: { apiVersion: 'v1', kind: 'DeleteOptions', preconditions: { uid } } })
    const result = await resultOf(async () => {
      const present = await read()
      const isGone = present?.metadata.uid !== uid
      const finalizers = isGone || present === undefined ? [] : finalizersOf(present, ownFinalizer(kind))
      const { summary } = isGone || present === undefined ? {} : explainStatus(kind, present)
      const events = isGone
        ? []
        : await waitForEvents(async () => await newestEvents(kube, { namespace: place, uid: uid ?? '' }, MAX_EVENTS))
      const lines = isGone
        ? [`${title} is deleted`]
        : [
            `${title} is in deletion${isNew ? `, requested by ${by}` : ''}; it waits for:`,
            ...(summary === undefined ? [] : [`  ${singleLine(summary, 500)}`]),
            ...finalizers.map((one) => `  ${finalizerLine(one, 'Pawl removes it')}`),
            ...events.map((event) => `  ${event}`),
          ]
      const names = finalizers.map(({ finalizer }) => finalizer)
      const data = {
        kind: groupKindText(kind),
        namespace: place,
        name,
        uid,
        by,
        gone: isGone,
        finalizers: names,
        events,
      }
      return { isGone, result: { lines, data, exitCode: isHeldByOthers(finalizers) ? HELD_UP : 0 } }
    })
    process.exitCode = result.exitCode ?? 0
    process.stdout.write(await formatResults([{ target: { kind, name }, result }], flags.output, false))
  })
}

/** @throws UsageError for a kind that another program owns, such as Namespace. */
function targetOf(kind: NamedKind): LevelTarget {
  const controllers = [...builtInRegistry.controllers.values()]
  const target: LevelTarget =
    controllers.find(({ target: one }) => isSameGroupKind(groupKindOf(one), kind))?.target ?? kind
  if (target.isReadOnly === true)
    throw new UsageError(`kind "${kind.kind}" does not belong to Pawl; delete the object with kubectl`)
  return target
}

/** An object that was just deleted gets its Event a moment later. */
async function waitForEvents(read: () => Promise<readonly string[]>): Promise<readonly string[]> {
  const deadline = Date.now() + EVENTS_WAIT_MS
  for (;;) {
    const events = await read()
    if (events.length > 0 || Date.now() > deadline) return events
    await new Promise((resolve) => setTimeout(resolve, 200))
  }
}
