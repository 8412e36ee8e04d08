// The commands `pawl reconcile` and `pawl interrupt`: they set the annotations that start a job or end the running job,
// and record user and reason.

import { Command } from 'commander'

import type { KubeObject } from '../../../activities/kube/client.ts'
import { groupKindText, ownerOfKind } from '../../../workflows/kit/index.ts'
import { UsageError } from '../../server/usage-error.ts'
import { isBusy, phaseIn } from '../query/format.ts'
import { suggestedCommand } from '../suggestion.ts'
import {
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

export function reconcileCommand(): Command {
  return withSteerFlags(new Command('reconcile').description('start a job of an object, now or after the running job'))
    .addHelpText(
      'after',
      "\nExamples:\n  pawl reconcile inst/shop\n  pawl reconcile inst/shop --reason 'new certificate'",
    )
    .action(async (words: readonly string[], flags: SteerFlags) => {
      await runOnObject(words, flags, reconcile)
    })
}

async function reconcile(target: TargetObject): Promise<CommandResult> {
  const { kind, namespace, name, object, user: user, reason: reason } = target
  const { reconcile: annotations, reason: reasonAnnotation } = kind.steering
  const title = titleOf(target)
  if (annotations === undefined)
    throw new UsageError(`${title} gets its jobs from its parent; name the parent (${reconcilable()})`)
  await refuseParts(target, title)
  const says = reasonAnnotation === undefined ? {} : { [reasonAnnotation]: reasonText(user, reason) }
  const asked = await annotate(target, 'reconcile', (present) => {
    const otherValue = otherThan(present, annotations)
    if (otherValue !== undefined)
      throw new Error(
        `${title} has the annotation ${otherValue}, which Pawl handles first; try again when the annotation is gone`,
      )
    return has(present, annotations) ? undefined : { ...annotations, ...says }
  })
  const when = isBusy(object) ? 'after the running job' : 'now'
  return {
    lines: [
      asked === 'asked'
        ? `${title}: a job starts ${when}, requested by ${user}`
        : `${title}: a job is already requested`,
      `follow it: ${suggestedCommand(`trace ${objectWords(target)} -w`)}`,
    ],
    data: {
      kind: groupKindText(kind),
      namespace,
      name,
      uid: object.metadata.uid,
      asked,
      by: user,
      why: reason ?? null,
    },
  }
}

function reconcilable(): string {
  const kinds = steeredKinds().filter(({ steering }) => steering.reconcile !== undefined)
  return kinds.map(({ kind }) => kind).join(' or ')
}

/** Refuses a part whose parent exists, because the parent's job includes it. */
async function refuseParts({ kube, kind, kinds, namespace, object }: TargetObject, title: string): Promise<void> {
  const { parent } = kind.steering
  const owner = parent === undefined ? undefined : ownerOfKind(object, parent)
  const ofParent = kinds.find((one) => one.kind === owner?.kind)
  if (owner === undefined || ofParent === undefined) return
  const found = await readObject(kube, ofParent, namespace, owner.name)
  if (found?.metadata.uid !== owner.uid) return
  throw new Error(
    `${title} gets its jobs from its parent; run ${suggestedCommand(`reconcile ${objectWords({ kind: ofParent, namespace, name: owner.name })}`)}`,
  )
}

/** The first of these annotations that has another value. */
export function otherThan(object: KubeObject, annotations: Readonly<Record<string, string>>): string | undefined {
  const [found] = Object.entries(annotations).flatMap(([key, value]) => {
    const present = object.metadata.annotations?.[key]
    return present === undefined || present === value ? [] : [`${key}=${present}`]
  })
  return found
}

export function has(object: KubeObject, annotations: Readonly<Record<string, string>>): boolean {
  return Object.entries(annotations).every(([key, value]) => object.metadata.annotations?.[key] === value)
}

/** Contains the user's name, to distinguish it from Pawl's own reasons. */
function reasonText(user: string, reason: string | undefined): string {
  return `by ${user}${reason === undefined ? '' : `: ${reason}`}`
}

export function interruptCommand(): Command {
  return withSteerFlags(
    new Command('interrupt').description('end the running job of an object and of all objects below it'),
  )
    .addHelpText('after', "\nExamples:\n  pawl interrupt inst/shop\n  pawl interrupt inst/shop --reason 'wrong image'")
    .action(async (words: readonly string[], flags: SteerFlags) => {
      await runOnObject(words, flags, interrupt)
    })
}

async function interrupt(target: TargetObject): Promise<CommandResult> {
  const { kind, namespace, name, object, user: user, reason: reason } = target
  const annotations = kind.steering.interrupt
  const title = titleOf(target)
  if (annotations === undefined) {
    const kinds = steeredKinds().filter(({ steering }) => steering.interrupt !== undefined)
    throw new UsageError(
      `${title} cannot be interrupted alone; interrupt its parent (${kinds.map((one) => one.kind).join(' or ')})`,
    )
  }
  if (!isBusy(object))
    throw new Error(`${title} has no running job (phase ${phaseIn(object) ?? '-'}), so there is nothing to interrupt`)
  let replaced: string | undefined
  const asked = await annotate(target, 'interrupt', (present) => {
    replaced = otherThan(present, annotations)
    return has(present, annotations) ? undefined : annotations
  })
  if (asked === 'asked') await tryEmitEvent(target, 'Interrupted', 'interrupted the job')
  return {
    lines: [
      asked === 'asked'
        ? `${title}: the running job is interrupted, requested by ${user}`
        : `${title}: the running job is already being interrupted`,
      ...(replaced === undefined ? [] : [`the annotation ${replaced} was replaced; request it again after the job`]),
    ],
    data: {
      kind: groupKindText(kind),
      namespace,
      name,
      uid: object.metadata.uid,
      asked,
      by: user,
      why: reason ?? null,
      replaced: replaced ?? null,
    },
  }
}
