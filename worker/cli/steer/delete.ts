// The command `pawl delete`: deletes an object, reports what blocks the deletion, and removes all finalizers with
// `--force` and a reason.

import { Command } from 'commander'

import { resourcePath } from '../../../activities/kube/resource-path.ts'
import { isNotFound } from '../../../activities/kube/kube-error.ts'
import { groupKindText, isSameGroupKind } from '../../../workflows/kit/index.ts'
import { suggestedCommand } from '../suggestion.ts'
import { UsageError } from '../../server/usage-error.ts'
import { isBad, phaseIn } from '../query/format.ts'
import { type Blocker, blockerLines, blockersOf, HELD_UP, isNotable, remedies, runningJobBlocker } from './blockers.ts'
import { deletionOrderText } from './deletion-order.ts'
import { deleteWithoutJobs } from './delete-without-jobs.ts'
import { forceDeletion } from './force.ts'
import { type LiveNode, readTree } from './live-tree.ts'
import {
  findControlledKind,
  objectWords,
  titleOf,
  type CommandResult,
  readObject,
  runOnObject,
  type TargetObject,
  steeredKinds,
  type SteerFlags,
  withSteerFlags,
} from './open-object.ts'
import { annotate, tryEmitEvent } from './record.ts'

interface DeleteFlags extends SteerFlags {
  readonly withoutUninstall?: boolean
  readonly force?: boolean
}

export function deleteCommand(): Command {
  return withSteerFlags(new Command('delete').description('delete an object, and report why its deletion waits'))
    .option('--without-uninstall', 'keep the deployed objects')
    .option('--force', 'remove all finalizers of the object and of all objects below it; needs --reason')
    .addHelpText(
      'after',
      "\nExamples:\n  pawl delete inst/shop\n  pawl delete inst/shop --without-uninstall\n  pawl delete inst/shop --force --reason 'its cluster is gone'",
    )
    .action(async (words: readonly string[], flags: DeleteFlags) => {
      if (flags.force === true && flags.reason === undefined)
        throw new UsageError('--force needs --reason; give the reason why no other way helps')
      const { kind, name } = findControlledKind(words)
      const hasJobs = steeredKinds().some((one) => isSameGroupKind(one, kind))
      if (hasJobs) await runOnObject(words, flags, async (target) => await deleteObject(target, flags))
      else await deleteWithoutJobs(kind, name, flags)
    })
}

async function deleteObject(
  target: TargetObject,
  { withoutUninstall = false, force = false }: DeleteFlags,
): Promise<CommandResult> {
  if (withoutUninstall) await leaveDeployed(target)
  const { kube, kind, kinds, namespace, name, object } = target
  const isNew = object.metadata.deletionTimestamp === undefined
  const forced = force ? await forceDeletion(target) : []
  if (!force && isNew) await requestDeletion(target)
  const present = await readObject(kube, kind, namespace, name)
  const isThere = present !== undefined && present.metadata.uid === object.metadata.uid
  const tree = isThere ? await readTree(kube, { kind, object: present }, kinds) : undefined
  return deletionResult(target, tree, { forced, isNew: isNew && !force })
}

function deletionResult(
  target: TargetObject,
  tree: LiveNode | undefined,
  { forced, isNew }: { readonly forced: readonly string[]; readonly isNew: boolean },
): CommandResult {
  const { kind, namespace, name, object, user, reason } = target
  const running = tree && runningJobBlocker(tree, new Date())
  const known = tree === undefined ? [] : blockersOf(tree)
  const blockers = running === undefined ? known : [running]
  const lines =
    running === undefined
      ? tree && progressLines(target, tree, { blockers, isNew })
      : [...running.waits, `next: ${suggestedCommand(`interrupt ${objectWords(target)}`)}`]
  return {
    lines: [...forced, ...(lines ?? [`${titleOf(target)} is deleted`])],
    data: {
      kind: groupKindText(kind),
      namespace,
      name,
      uid: object.metadata.uid,
      by: user,
      why: reason ?? null,
      gone: tree === undefined,
      blockers,
      forced,
    },
    exitCode: blockers.some(({ isStuck }) => isStuck) ? HELD_UP : 0,
  }
}

function progressLines(
  target: TargetObject,
  tree: LiveNode,
  { blockers, isNew }: { readonly blockers: readonly Blocker[]; readonly isNew: boolean },
): readonly string[] {
  const notable = blockers.filter(isNotable)
  const requested = isNew ? `, requested by ${target.user}` : ''
  const order = deletionOrderText(tree)
  const words = objectWords(target)
  return [
    `${titleOf(target)} is in deletion${requested}${notable.length === 0 ? '' : '; it waits for:'}`,
    ...notable.flatMap(blockerLines).map((line) => `  ${line}`),
    ...(order === undefined ? [] : [order]),
    ...(notable.length === 0 ? [`follow it: ${suggestedCommand(`trace ${words} -w`)}`] : []),
    ...remedies(tree, blockers, words),
  ]
}

async function requestDeletion(target: TargetObject): Promise<void> {
  const { kube, kind, namespace, name, object } = target
  const { uid } = object.metadata
  const body = { apiVersion: 'v1', kind: 'DeleteOptions', preconditions: { uid }, propagationPolicy: 'Background' }
  await kube.request('DELETE', resourcePath(kind.api, namespace, name), { body }).catch((error: unknown) => {
    if (!isNotFound(error)) throw error
  })
  await tryEmitEvent(target, 'DeletionAskedFor', 'requested the deletion')
}

/** Keeps what the object deployed; restarts a deletion that failed. */
async function leaveDeployed(target: TargetObject): Promise<void> {
  const { orphan, reconcile = {} } = target.kind.steering
  if (orphan === undefined)
    throw new UsageError(`--without-uninstall: ${titleOf(target)} is not a root; name the root object above it`)
  await annotate(target, 'delete without uninstalling', (present) => {
    const hasFailed = present.metadata.deletionTimestamp !== undefined && isBad(phaseIn(present))
    return { ...orphan, ...(hasFailed ? reconcile : {}) }
  })
}
