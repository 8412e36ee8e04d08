// The command `pawl delete`: deletes an object, tells what holds its deletion up, and takes the last way out where somebody says why.

import { Command } from 'commander'

import { resourcePath } from '../../../activities/kube/resource-path.ts'
import { isNotFound } from '../../../activities/kube/kube-error.ts'
import { groupKindText, isSameGroupKind } from '../../../workflows/kit/index.ts'
import { UsageError } from '../../server/usage-error.ts'
import { isBad, nameOf, phaseIn } from '../query/format.ts'
import { blockerLines, blockersOf, waysOut } from './blockers.ts'
import { deleteWithoutJobs } from './delete-without-jobs.ts'
import { forceOff } from './force.ts'
import { type LiveNode, readTree } from './live-tree.ts'
import {
  controlledNamed,
  type Done,
  readObject,
  steer,
  type Steered,
  steeredKinds,
  type SteerFlags,
  withSteerFlags,
} from './open-object.ts'
import { annotate, tryToTell } from './record.ts'

/** The exit code when a deletion is held up by what only a person can move. */
const HELD_UP = 3

interface DeleteFlags extends SteerFlags {
  readonly withoutUninstall?: boolean
  readonly force?: boolean
}

export function deleteCommand(): Command {
  return withSteerFlags(new Command('delete').description('delete an object, and tell what holds its deletion up'))
    .option('--without-uninstall', 'leave what it has deployed')
    .option('--force', 'take all finalizers off, of it and of all below; needs --reason')
    .addHelpText(
      'after',
      "\nExamples:\n  pawl delete inst/shop\n  pawl delete inst/shop --without-uninstall\n  pawl delete inst/shop --force --reason 'its cluster is gone'",
    )
    .action(async (words: readonly string[], flags: DeleteFlags) => {
      if (flags.force === true && flags.reason === undefined)
        throw new UsageError('--force is given without --reason, expected why nothing else helps')
      const { kind, name } = controlledNamed(words)
      const hasJobs = steeredKinds().some((one) => isSameGroupKind(one, kind))
      if (hasJobs) await steer(words, flags, async (steered) => await remove(steered, flags))
      else await deleteWithoutJobs(kind, name, flags)
    })
}

async function remove(steered: Steered, { withoutUninstall = false, force = false }: DeleteFlags): Promise<Done> {
  if (withoutUninstall) await leaveDeployed(steered)
  const { kube, kind, kinds, namespace, name, object } = steered
  const isNew = object.metadata.deletionTimestamp === undefined
  const forced = force ? await forceOff(steered) : []
  if (!force && isNew) await askForDeletion(steered)
  const present = await readObject(kube, kind, namespace, name)
  const isThere = present !== undefined && present.metadata.uid === object.metadata.uid
  const tree = isThere ? await readTree(kube, { kind, object: present }, kinds) : undefined
  return told(steered, tree, { forced, isNew: isNew && !force })
}

function told(
  { kind, namespace, name, object, who, why }: Steered,
  tree: LiveNode | undefined,
  { forced, isNew }: { readonly forced: readonly string[]; readonly isNew: boolean },
): Done {
  const title = nameOf({ kind: kind.kind, namespace, name })
  const blockers = tree === undefined ? [] : blockersOf(tree)
  const going = `${title} is being deleted${isNew ? `, by ${who}` : ''}${blockers.length === 0 ? '' : '; it waits for:'}`
  return {
    lines: [
      ...forced,
      tree === undefined ? `${title} is gone` : going,
      ...blockers.flatMap(blockerLines).map((line) => `  ${line}`),
      ...(tree === undefined ? [] : waysOut(tree, blockers, `${kind.kind.toLowerCase()}/${name} -n ${namespace}`)),
    ],
    data: {
      kind: groupKindText(kind),
      namespace,
      name,
      uid: object.metadata.uid,
      by: who,
      why: why ?? null,
      gone: tree === undefined,
      blockers,
      forced,
    },
    exitCode: blockers.some(({ isStuck }) => isStuck) ? HELD_UP : 0,
  }
}

async function askForDeletion(steered: Steered): Promise<void> {
  const { kube, kind, namespace, name, object } = steered
  const { uid } = object.metadata
  const body = { apiVersion: 'v1', kind: 'DeleteOptions', preconditions: { uid }, propagationPolicy: 'Background' }
  await kube.request('DELETE', resourcePath(kind.api, namespace, name), { body }).catch((error: unknown) => {
    if (!isNotFound(error)) throw error
  })
  await tryToTell(steered, 'DeletionAskedFor', 'asked for the deletion')
}

/** What was deployed stays; a deletion that has failed begins again. */
async function leaveDeployed(steered: Steered): Promise<void> {
  const { orphan: leave, reconcile = {} } = steered.kind.steering
  if (leave === undefined)
    throw new UsageError(
      `--without-uninstall is for roots, found a ${steered.kind.kind}; expected that of which it is a part`,
    )
  await annotate(steered, 'delete without uninstalling', (present) => {
    const hasFailed = present.metadata.deletionTimestamp !== undefined && isBad(phaseIn(present))
    return { ...leave, ...(hasFailed ? reconcile : {}) }
  })
}
