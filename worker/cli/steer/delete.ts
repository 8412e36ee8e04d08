// The command `pawl delete`: deletes an object, reports what blocks the deletion, and removes all finalizers with
// `--force` and a reason.

import { Command } from 'commander'

import { resourcePath } from '../../../activities/kube/resource-path.ts'
import { isNotFound } from '../../../activities/kube/kube-error.ts'
import { groupKindText, isSameGroupKind } from '../../../workflows/kit/index.ts'
import { linesText } from '../options.ts'
import { suggestedCommand } from '../suggestion.ts'
import { UsageError } from '../../server/usage-error.ts'
import { isBad, phaseIn } from '../query/format.ts'
import {
  type Blocker,
  blockerLines,
  blockersOf,
  HELD_UP,
  isNotable,
  remedies,
  runningJobBlocker,
  unstartedDeletion,
} from './blockers.ts'
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
import { type DeletionState, waitUntilGone } from './wait-for-deletion.ts'

interface DeleteFlags extends SteerFlags {
  readonly withoutUninstall?: boolean
  readonly force?: boolean
  readonly wait?: boolean
}

export function deleteCommand(): Command {
  return withSteerFlags(new Command('delete').description('delete an object, and report why its deletion waits'))
    .option('-w, --wait', 'wait until the object is gone, and print what its deletion waits for')
    .option('--without-uninstall', 'keep the deployed objects')
    .option('--force', 'remove all finalizers of the object and of all objects below it; needs --reason')
    .addHelpText(
      'after',
      "\nExamples:\n  pawl delete inst/shop\n  pawl delete inst/shop --wait\n  pawl delete inst/shop --without-uninstall\n  pawl delete inst/shop --force --reason 'its cluster is gone'",
    )
    .action(async (words: readonly string[], flags: DeleteFlags) => {
      if (flags.force === true && flags.reason === undefined)
        throw new UsageError('--force needs --reason; give the reason why no other way helps')
      const { kind, name } = findControlledKind(words)
      const hasJobs = steeredKinds().some((one) => isSameGroupKind(one, kind))
      const result = async (read: () => Promise<DeletionState>) => await deletionResult(read, flags)
      if (hasJobs) await runOnObject(words, flags, async (target) => await result(await deleteObject(target, flags)))
      else await deleteWithoutJobs({ kind, name }, flags, result)
    })
}

const POLL_MS = 1000

/** With `--wait`, prints the states until the object is gone. */
async function deletionResult(
  read: () => Promise<DeletionState>,
  { wait, output }: Pick<DeleteFlags, 'wait' | 'output'>,
): Promise<CommandResult> {
  if (wait !== true) return (await read()).result
  return await waitUntilGone({
    read,
    print: (lines) => {
      if (output === 'text') process.stdout.write(linesText(lines))
    },
    pause: async () => await new Promise((resolve) => setTimeout(resolve, POLL_MS)),
  })
}

/** @returns a function that reads the state of the deletion. */
async function deleteObject(
  target: TargetObject,
  { withoutUninstall = false, force = false, wait = false }: DeleteFlags,
): Promise<() => Promise<DeletionState>> {
  if (withoutUninstall) await leaveDeployed(target)
  const { kube, kind, kinds, namespace, name, object } = target
  const isNew = object.metadata.deletionTimestamp === undefined
  const forced = force ? await forceDeletion(target) : []
  if (!force && isNew) await requestDeletion(target)
  return async () => {
    const present = await readObject(kube, kind, namespace, name)
    const isThere = present !== undefined && present.metadata.uid === object.metadata.uid
    const tree = isThere ? await readTree(kube, { kind, object: present }, kinds) : undefined
    return { isGone: !isThere, result: stateResult(target, tree, { forced, isNew: isNew && !force, isWaiting: wait }) }
  }
}

interface DeletionMode {
  /** The command has requested the deletion. */
  readonly isNew: boolean
  /** The command waits until the object is gone. */
  readonly isWaiting: boolean
}

function stateResult(
  target: TargetObject,
  tree: LiveNode | undefined,
  { forced, ...how }: { readonly forced: readonly string[] } & DeletionMode,
): CommandResult {
  const { kind, namespace, name, object, user, reason } = target
  const now = new Date()
  const running = tree && runningJobBlocker(tree, now)
  const idle = tree && unstartedDeletion(tree, now)
  const known = tree === undefined ? [] : blockersOf(tree)
  const blockers = running === undefined ? [...(idle === undefined ? [] : [idle]), ...known] : [running]
  const lines =
    running === undefined
      ? tree && progressLines(target, tree, { blockers, ...how })
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
  { blockers, isNew, isWaiting }: { readonly blockers: readonly Blocker[] } & DeletionMode,
): readonly string[] {
  const notable = blockers.filter(isNotable)
  const requested = isNew ? `, requested by ${target.user}` : ''
  const order = deletionOrderText(tree)
  const words = objectWords(target)
  return [
    `${titleOf(target)} is in deletion${requested}${notable.length === 0 ? '' : '; it waits for:'}`,
    ...notable.flatMap(blockerLines).map((line) => `  ${line}`),
    ...(order === undefined ? [] : [order]),
    ...(notable.length === 0 && !isWaiting ? [`follow it: ${suggestedCommand(`trace ${words} -w`)}`] : []),
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
