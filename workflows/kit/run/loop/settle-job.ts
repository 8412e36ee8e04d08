// How the passes of jobs are settled: one conditional status write with the next due time, or nothing at all.
//
//   S1. A pass that changed nothing and wants no other one writes nothing. A run that goes on settles it all the same, to hear what came meanwhile.
//   S2. What ends a job is written in one settle, which also closes the run's row.
//   S3. A status that the server refuses holds no workflow task: the run waits for the journal's back-off as it does for any other wake.

import type { JobInput } from '../job.ts'
import type { HostedEnd } from '../status-change.ts'
import type { By } from '../subject.ts'
import type { NextPass } from '../next-pass.ts'
import {
  type ChildChange,
  hostedPart,
  type SettleActivities,
  type SettleInput,
  type SettleResult,
  tellHosted,
} from '../settle.ts'
import type { SettledTarget, StatusChange } from '../status-change.ts'
import { SETTLE_TOLD } from '../summaries.ts'
import type { Course, PassReport, Settled, Wakes } from './loop.ts'
import { insistentActivities } from './temporal.ts'

export interface JobReport extends PassReport {
  readonly change?: StatusChange | undefined
  /** Of the children that the run hosts. */
  readonly hosted?: readonly HostedEnd[]
  /** The pass could not look, or begin where it looked. */
  readonly isUnseen?: true | undefined
  /** Takes the target as settle left it. */
  settled?(target: Partial<SettledTarget>): void
}

/** The course of a run whose passes come to such reports. */
export function jobCourse(
  input: JobInput,
  wakes: Wakes,
  passes: Pick<Course<JobReport>, 'runPass' | 'failure' | 'leave' | 'found'>,
): Course<JobReport> {
  const { settle, endRun } = insistentActivities<SettleActivities>(SETTLE_TOLD)
  let refusals = 0
  let gone: readonly Pick<ChildChange, 'by' | 'subject'>[] = []
  const settlePass = async (by: By, report: JobReport, next: NextPass): Promise<Settled> => {
    const { change, result, hosted, isUnseen } = report
    const part = hostedPart(input.subject, hosted)
    gone = goneOf(hosted)
    const againMs = result === undefined ? next.againMs : undefined
    const isClosed = change?.finished === true
    const said = { ...part, change, againMs, isUnseen }
    if (isNothing(said) && (result !== undefined || wakes.isWoken())) return { result, isClosed }
    const settled = await settle(toSettle({ ...by, ...input, ...next, ...said }, refusals))
    refusals = refusalsAfter(settled, refusals)
    switch (settled.result) {
      case 'superseded':
        return { result: 'Superseded', isClosed: false }
      case 'refused':
        return { result: undefined, isClosed: false }
      case 'overtaken':
        wakes.wake()
        return { result: undefined, isClosed: false }
      case 'settled':
        report.settled?.(settled.target)
        tellHosted(hosted, settled.children)
        if (settled.woken) wakes.wake()
        return { result, isClosed }
    }
  }
  return {
    ...passes,
    settle: settlePass,
    close: async (by, outcome) => await endRun({ ...by, ...input, outcome, ...(gone.length > 0 && { gone }) }),
    endsWoken: true,
  }
}

function goneOf(hosted: readonly HostedEnd[] = []): readonly Pick<ChildChange, 'by' | 'subject'>[] {
  return hosted.filter(({ isGone }) => isGone).map(({ by, subject }) => ({ by, subject }))
}

/** S3 */
function toSettle(input: SettleInput, refusals: number): SettleInput {
  return refusals === 0 ? input : { ...input, refusals }
}

function refusalsAfter({ result }: SettleResult, before: number): number {
  return result === 'refused' ? before + 1 : 0
}

function isNothing({ children, change, againMs }: Pick<SettleInput, 'children' | 'change' | 'againMs'>): boolean {
  return children === undefined && change === undefined && againMs === undefined
}
