// The command `pawl interrupt`: ends the running job of an object, as the annotation does, with who and why.

import { Command } from 'commander'

import { groupKindText } from '../../../workflows/kit/index.ts'
import { UsageError } from '../../server/usage-error.ts'
import { isBusy, nameOf, phaseIn } from '../ask/texts.ts'
import { type Done, steer, type Steered, steeredKinds, type SteerFlags, withSteerFlags } from './open-object.ts'
import { has, otherThan } from './reconcile.ts'
import { annotate, tryToTell } from './record.ts'

export function interruptCommand(): Command {
  return withSteerFlags(new Command('interrupt').description('end the running job of an object and of all below it'))
    .addHelpText('after', "\nExamples:\n  pawl interrupt inst/shop\n  pawl interrupt inst/shop --reason 'wrong image'")
    .action(async (words: readonly string[], flags: SteerFlags) => {
      await steer(words, flags, interrupt)
    })
}

async function interrupt(steered: Steered): Promise<Done> {
  const { kind, namespace, name, object, who, why } = steered
  const wanted = kind.steering.interrupt
  const title = nameOf({ kind: kind.kind, namespace, name })
  if (wanted === undefined) {
    const kinds = steeredKinds().filter(({ steering }) => steering.interrupt !== undefined)
    throw new UsageError(
      `${kind.kind} cannot be interrupted alone, expected one of ${kinds.map((one) => one.kind).join(', ')}`,
    )
  }
  if (!isBusy(object))
    throw new Error(`${title} has no job that runs (phase ${phaseIn(object) ?? '-'}), expected one to interrupt`)
  let replaced: string | undefined
  const asked = await annotate(steered, 'interrupt', (present) => {
    replaced = otherThan(present, wanted)
    return has(present, wanted) ? undefined : wanted
  })
  if (asked === 'asked') await tryToTell(steered, 'Interrupted', 'interrupted the job')
  return {
    lines: [
      asked === 'asked' ? `the job of ${title} is interrupted by ${who}` : `the job of ${title} is interrupted already`,
      ...(replaced === undefined ? [] : [`${replaced} was to come after it, and does not any more: ask for it again`]),
    ],
    data: {
      kind: groupKindText(kind),
      namespace,
      name,
      uid: object.metadata.uid,
      asked,
      by: who,
      why: why ?? null,
      replaced: replaced ?? null,
    },
  }
}
