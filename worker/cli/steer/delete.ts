// The command `pawl delete`: deletes an object, reports what blocks the deletion, and removes all finalizers with
// `--force` and a reason.

import { Command } from 'commander'

import { resourcePath } from '../../../activities/kube/resource-path.ts'
import { isNotFound } from '../../../activities/kube/kube-error.ts'
import { groupKindText, isSameGroupKind } from '../../../workflows/kit/index.ts'
import { UsageError } from '../../server/usage-error.ts'
import { isBad, nameOf, phaseIn } from '../query/format.ts'
import { blockerLines, blockersOf, remedies } from './blockers.ts'
import { deleteWithoutJobs } from './delete-without-jobs.ts'
import { forceDeletion } from './force.ts'
import { type LiveNode, readTree } from './live-tree.ts'
import {
  findControlledKind,
  type CommandResult,
  readObject,
  runOnObject,
  type TargetObject,
  steeredKinds,
  type SteerFlags,
  withSteerFlags,
} from './open-object.ts'
import { annotate, tryEmitEvent } from './record.ts'

/** Exit code when only a user can continue the deletion. */
const HELD_UP = 3

interface DeleteFlags extends SteerFlags {
  readonly withoutUninstall?: boolean
  readonly force?: boolean
}

export function deleteCommand(): Command {
  return withSteerFlags(new Command('delete').description('delete an object, and report why its deletion waits'))
    .option('--without-uninstall', 'keep the deployed objects')
    .option('--force', 'take all finalizers off, of it and of all below; needs --reason')
    .addHelpText(
      'after',
      "\nExamples:\n  pawl delete inst/shop\n  pawl delete inst/shop --without-uninstall\n  pawl delete inst/shop --force --reason 'its cluster is gone'",
    )
    .action(async (words: readonly string[], flags: DeleteFlags) => {
      if (flags.force === true && flags.reason === undefined)
        throw new UsageError('--force is given without --reason, expected why nothing else helps')
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
  { kind, namespace, name, object, user: user, reason: reason }: TargetObject,
  tree: LiveNode | undefined,
  { forced, isNew }: { readonly forced: readonly string[]; readonly isNew: boolean },
): CommandResult {
  const title = nameOf({ kind: kind.kind, namespace, name })
  const blockers = tree === undefined ? [] : blockersOf(tree)
  const going = `${title} is being deleted${isNew ? `, by ${user}` : ''}${blockers.length === 0 ? '' : '; it waits for:'}`
  return {
    lines: [
      ...forced,
      tree === undefined ? `${title} is gone` : going,
      ...blockers.flatMap(blockerLines).map((line) => `  ${line}`),
      ...(tree === undefined ? [] : remedies(tree, blockers, `${kind.kind.toLowerCase()}/${name} -n ${namespace}`)),
    ],
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

async function requestDeletion(target: TargetObject): Promise<void> {
  const { kube, kind, namespace, name, object } = target
  const { uid } = object.metadata
  const body = { apiVersion: 'v1', kind: 'DeleteOptions', preconditions: { uid }, propagationPolicy: 'Background' }
  await kube.request('DELETE', resourcePath(kind.api, namespace, name), { body }).catch((error: unknown) => {
    if (!isNotFound(error)) throw error
  })
  await tryEmitEvent(target, 'DeletionAskedFor', 'asked for the deletion')
}

/** Keeps what the object deployed; restarts a deletion that failed. */
async function leaveDeployed(target: TargetObject): Promise<void> {
  const { orphan, reconcile = {} } = target.kind.steering
  if (orphan === undefined)
    throw new UsageError(
      `--without-uninstall is for roots, found a ${target.kind.kind}; expected that of which it is a part`,
    )
  await annotate(target, 'delete without uninstalling', (present) => {
    const hasFailed = present.metadata.deletionTimestamp !== undefined && isBad(phaseIn(present))
    return { ...orphan, ...(hasFailed ? reconcile : {}) }
  })
}
