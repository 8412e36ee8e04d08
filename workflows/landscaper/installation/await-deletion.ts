// Phase Deleting: waits until the children are deleted, then removes the finalizer. Source: spec/landscaper.md 2.4 "Deleting".

import { FINALIZER } from '../contract.ts'
import { again, done, fail, GONE, interrupts, type Outcome, stop } from '../../kit/index.ts'
import type { InstallationPass } from './pass.ts'
import { shortList } from '../short-list.ts'
import { childCodes, names, shown } from './sub-installations.ts'

export async function awaitDeletion(pass: InstallationPass): Promise<Outcome> {
  const children = childrenLeft(pass)
  if (interrupts(children)) return children
  const { by, subject, act, state } = pass
  const { version, finalizers } = state.target
  if (!finalizers.includes(FINALIZER)) return stop('waiting for other finalizers')
  const left = await act.guardSubject({ by, subject, version, finalizers, guarded: false })
  return left === undefined ? stop(GONE) : again(0)
}

function childrenLeft({ subject, jobID, state: { execution, subInstallations } }: InstallationPass): Outcome {
  const isLeft = execution !== undefined && execution.jobIDFinished !== jobID
  const unfinished = subInstallations.filter((sub) => sub.jobIDFinished !== jobID)
  if (isLeft || unfinished.length > 0) {
    const waitedFor = [
      ...(isLeft ? [`execution ${subject.name}`] : []),
      ...(unfinished.length > 0 ? [`sub-installations ${names(unfinished)}`] : []),
    ]
    return stop(`waiting for ${waitedFor.join(' and ')} to be gone`)
  }
  const failures = [
    ...(execution === undefined ? [] : [found(subject.name, execution)]),
    ...subInstallations.map(shown),
  ]
  if (failures.length === 0) return done
  return fail('UndeletedSubobjects', shortList(failures).join('; '), childCodes(execution, subInstallations))
}

function found(
  name: string,
  { phase, error }: { readonly phase: string | undefined; readonly error?: string | undefined },
) {
  const text = `execution ${name} is ${phase ?? 'unfinished'}; expected it to be gone`
  return error === undefined ? text : `${text}: ${error}`
}
