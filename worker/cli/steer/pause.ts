// The commands `pawl pause` and `pawl resume`: they set or remove the annotation that pauses an object, and record user
// and reason.

import { Command } from 'commander'

import type { KubeObject } from '../../../activities/kube/client.ts'
import { groupKindText } from '../../../workflows/kit/index.ts'
import { UsageError } from '../../server/usage-error.ts'
import { isBusy } from '../query/format.ts'
import { suggestedCommand } from '../suggestion.ts'
import {
  objectWords,
  titleOf,
  type CommandResult,
  runOnObject,
  type TargetObject,
  steeredKinds,
  type SteerFlags,
  withSteerFlags,
} from './open-object.ts'
import { annotate, tryEmitEvent } from './record.ts'

export function pauseCommand(): Command {
  return withSteerFlags(
    new Command('pause').description('start no new work of an object and its children; running work continues'),
  )
    .addHelpText(
      'after',
      "\nExamples:\n  pawl pause inst/shop\n  pawl pause inst/shop --reason 'the freeze of the sale'\nUndo it with pawl resume.",
    )
    .action(async (words: readonly string[], flags: SteerFlags) => {
      await runOnObject(words, flags, pause)
    })
}

export function resumeCommand(): Command {
  return withSteerFlags(new Command('resume').description('resume a paused object'))
    .addHelpText('after', "\nExamples:\n  pawl resume inst/shop\n  pawl resume inst/shop --reason 'the sale is over'")
    .action(async (words: readonly string[], flags: SteerFlags) => {
      await runOnObject(words, flags, resume)
    })
}

/** Value of the annotation without a reason. */
const NO_REASON = 'true'

async function pause(target: TargetObject): Promise<CommandResult> {
  const { object, reason: reason, user: user } = target
  const { annotation, title } = pausable(target)
  const asked = await annotate(target, 'pause', (present) =>
    valueIn(present, annotation) === undefined ? { [annotation]: reason ?? NO_REASON } : undefined,
  )
  if (asked === 'asked') await tryEmitEvent(target, 'Paused', 'paused this object')
  const effect = isBusy(object) ? 'running items finish, and no further item starts' : 'no job starts'
  return done(target, asked, [
    asked === 'asked'
      ? `${title} is paused by ${user}: ${effect}`
      : `${title} is already paused: ${before(object, annotation)}`,
    `resume it: ${suggestedCommand(`resume ${objectWords(target)}`)}`,
  ])
}

async function resume(target: TargetObject): Promise<CommandResult> {
  const { user: user } = target
  const { annotation, title } = pausable(target)
  const asked = await annotate(target, 'resume', (present) =>
    present.metadata.annotations?.[annotation] === undefined ? undefined : { [annotation]: null },
  )
  if (asked === 'asked') await tryEmitEvent(target, 'Resumed', 'resumed this object')
  return done(target, asked, [asked === 'asked' ? `${title} is resumed by ${user}` : `${title} is not paused`])
}

function done(
  { kind, namespace, name, object, user: user, reason: reason }: TargetObject,
  asked: string,
  lines: readonly string[],
): CommandResult {
  const { uid } = object.metadata
  return { lines, data: { kind: groupKindText(kind), namespace, name, uid, asked, by: user, why: reason ?? null } }
}

function pausable(target: TargetObject): { readonly annotation: string; readonly title: string } {
  const title = titleOf(target)
  const { pause: pausing } = target.kind.steering
  if (pausing !== undefined) return { annotation: pausing.annotation, title }
  const kinds = steeredKinds().filter(({ steering }) => steering.pause !== undefined)
  throw new UsageError(
    `${title} cannot be paused alone; pause its parent (${kinds.map((one) => one.kind).join(' or ')})`,
  )
}

function valueIn({ metadata }: KubeObject, annotation: string): string | undefined {
  const value = (metadata.annotations?.[annotation] ?? '').trim()
  return value === '' || value === 'false' ? undefined : value
}

function before(object: KubeObject, annotation: string): string {
  const value = valueIn(object, annotation) ?? NO_REASON
  return value === NO_REASON ? 'no reason was given' : value
}
