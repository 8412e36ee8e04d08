// The commands `pawl pause` and `pawl resume`: they set or remove the annotation that pauses an object, and record user
// and reason.

import { Command } from 'commander'

import type { KubeObject } from '../../../activities/kube/client.ts'
import { groupKindText } from '../../../workflows/kit/index.ts'
import { UsageError } from '../../server/usage-error.ts'
import { isBusy, nameOf } from '../query/format.ts'
import {
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
    new Command('pause').description('hold back new work of an object and its children; running work continues'),
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
  if (asked === 'asked') await tryEmitEvent(target, 'Paused', 'paused it')
  const effect = isBusy(object) ? 'what runs goes on to its end, and nothing more begins' : 'no job of it begins'
  return done(target, asked, [
    asked === 'asked'
      ? `${title} is paused by ${user}: ${effect}`
      : `${title} was paused before: ${before(object, annotation)}`,
    `let it go on: pawl resume ${words(target)}`,
  ])
}

async function resume(target: TargetObject): Promise<CommandResult> {
  const { user: user } = target
  const { annotation, title } = pausable(target)
  const asked = await annotate(target, 'resume', (present) =>
    present.metadata.annotations?.[annotation] === undefined ? undefined : { [annotation]: null },
  )
  if (asked === 'asked') await tryEmitEvent(target, 'Resumed', 'let it go on')
  return done(target, asked, [asked === 'asked' ? `${title} goes on, by ${user}` : `${title} is not paused`])
}

function done(
  { kind, namespace, name, object, user: user, reason: reason }: TargetObject,
  asked: string,
  lines: readonly string[],
): CommandResult {
  const { uid } = object.metadata
  return { lines, data: { kind: groupKindText(kind), namespace, name, uid, asked, by: user, why: reason ?? null } }
}

function pausable({ kind, namespace, name }: TargetObject): { readonly annotation: string; readonly title: string } {
  const title = nameOf({ kind: kind.kind, namespace, name })
  const { pause: pausing } = kind.steering
  if (pausing !== undefined) return { annotation: pausing.annotation, title }
  const kinds = steeredKinds().filter(({ steering }) => steering.pause !== undefined)
  throw new UsageError(
    `${title} cannot be paused by itself, expected one of ${kinds.map((one) => one.kind).join(', ')}: pause what it is a part of`,
  )
}

function valueIn({ metadata }: KubeObject, annotation: string): string | undefined {
  const value = (metadata.annotations?.[annotation] ?? '').trim()
  return value === '' || value === 'false' ? undefined : value
}

function before(object: KubeObject, annotation: string): string {
  const value = valueIn(object, annotation) ?? NO_REASON
  return value === NO_REASON ? 'nobody said why' : value
}

function words({ kind, namespace, name }: TargetObject): string {
  return `${kind.kind.toLowerCase()}/${name} -n ${namespace}`
}
