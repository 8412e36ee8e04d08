// The commands `pawl reconcile` and `pawl interrupt`: they set the annotations that start a job or end the running job,
// and record user and reason.

import { Command } from 'commander'

import type { KubeObject } from '../../../activities/kube/client.ts'
import { groupKindText, ownerOfKind } from '../../../workflows/kit/index.ts'
import { UsageError } from '../../server/usage-error.ts'
import { isBusy, nameOf, phaseIn } from '../query/format.ts'
import {
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
  return withSteerFlags(
    new Command('reconcile').description('ask for a job of an object, now or after the running one'),
  )
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
  const title = nameOf({ kind: kind.kind, namespace, name })
  if (annotations === undefined)
    throw new UsageError(`${kind.kind} gets its jobs from above, expected ${reconcilable()}`)
  await refuseParts(target, title)
  const says = reasonAnnotation === undefined ? {} : { [reasonAnnotation]: reasonText(user, reason) }
  const asked = await annotate(target, 'reconcile', (present) => {
    const otherValue = otherThan(present, annotations)
    if (otherValue !== undefined)
      throw new Error(
        `${title} has the annotation ${otherValue}, which is to be served first; expected none, try again when it is gone`,
      )
    return has(present, annotations) ? undefined : { ...annotations, ...says }
  })
  const when = isBusy(object) ? 'begins after the one that runs' : 'begins'
  return {
    lines: [
      asked === 'asked' ? `a job of ${title} ${when}, asked for by ${user}` : `a job of ${title} is asked for already`,
      `follow it: pawl trace ${kind.kind.toLowerCase()}/${name} -n ${namespace} -w`,
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
  return `one of ${kinds.map(({ kind }) => kind).join(', ')}`
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
    `${title} is a part of ${owner.kind} ${namespace}/${owner.name} and has its job; expected that: pawl reconcile ${owner.kind.toLowerCase()}/${owner.name} -n ${namespace}`,
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
  return withSteerFlags(new Command('interrupt').description('end the running job of an object and of all below it'))
    .addHelpText('after', "\nExamples:\n  pawl interrupt inst/shop\n  pawl interrupt inst/shop --reason 'wrong image'")
    .action(async (words: readonly string[], flags: SteerFlags) => {
      await runOnObject(words, flags, interrupt)
    })
}

async function interrupt(target: TargetObject): Promise<CommandResult> {
  const { kind, namespace, name, object, user: user, reason: reason } = target
  const annotations = kind.steering.interrupt
  const title = nameOf({ kind: kind.kind, namespace, name })
  if (annotations === undefined) {
    const kinds = steeredKinds().filter(({ steering }) => steering.interrupt !== undefined)
    throw new UsageError(
      `${kind.kind} cannot be interrupted alone, expected one of ${kinds.map((one) => one.kind).join(', ')}`,
    )
  }
  if (!isBusy(object))
    throw new Error(`${title} has no job that runs (phase ${phaseIn(object) ?? '-'}), expected one to interrupt`)
  let replaced: string | undefined
  const asked = await annotate(target, 'interrupt', (present) => {
    replaced = otherThan(present, annotations)
    return has(present, annotations) ? undefined : annotations
  })
  if (asked === 'asked') await tryEmitEvent(target, 'Interrupted', 'interrupted the job')
  return {
    lines: [
      asked === 'asked'
        ? `the job of ${title} is interrupted by ${user}`
        : `the job of ${title} is interrupted already`,
      ...(replaced === undefined ? [] : [`${replaced} was to come after it, and does not any more: ask for it again`]),
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
