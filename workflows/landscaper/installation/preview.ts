// Previews a job of an Installation: runs its plan to the point where the job would wait for started children, includes the preview of its Execution,
// and previews its sub-installations in the order of their imports. Exports that a job would create do not exist in the preview, so an importer
// reports them as missing.

import type { Activities } from '../../../activities/index.ts'
import { done, type DryRunRequest, type DryRunJob, dryRunPhases, type Subject } from '../../kit/index.ts'
import { previewItems } from '../execution/preview.ts'
import { executionKind } from '../execution/kind.ts'
import type { ExecutionActivities } from '../execution/pass.ts'
import { installationKind } from './kind.ts'
import type { InstallationActivities, InstallationPass } from './pass.ts'
import { installationPlan } from './plan.ts'

export interface StatusOverlay {
  /** Makes later observations show this status for the object. */
  pretendStatus(subject: Subject, status: object): Promise<void>
}

type Act = InstallationActivities & ExecutionActivities & Pick<Activities, 'observeInstallation'> & StatusOverlay

/** @param act the activities of an Installation's passes and of its Execution's; their writes must not be persisted. */
export async function previewInstallation(act: Act, asked: DryRunRequest): Promise<DryRunJob> {
  const { subject, jobID, by, runtime } = asked
  const found = await act.observeInstallation({ by, subject, known: {}, knownSubs: {} })
  if (found.target === undefined) throw new Error(`installation "${subject.namespace}/${subject.name}" does not exist`)
  const { target, execution, changed: deployItems, subInstallations } = found
  const plan: { execution?: DryRunJob; readonly jobs: DryRunJob[] } = { jobs: [] }
  const pass: InstallationPass = {
    subject,
    jobID,
    by,
    state: {
      target: { ...target, jobID },
      execution,
      deployItems,
      subInstallations: subInstallations.changed,
      isAdopted: true,
    },
    act: { ...act, ...recordedActivities(act, asked, plan), itemsOfExecution: () => pass.state.deployItems },
    draft: {
      phase: 'Init',
      observedGeneration: target.generation,
      lastError: undefined,
      conditions: [],
      marks: [],
      fields: {},
    },
    background: { has: () => false, start: () => undefined, retain: () => undefined },
    wake: () => undefined,
    hosted: [],
  }
  const enters = (phase: string) => {
    pass.state = { ...pass.state, target: { ...pass.state.target, phase } }
  }
  const ran = await dryRunPhases(installationPlan, pass, { runtime, from: 'Init', until: 'Completing', enters })
  const inner = plan.execution?.end === 'fails' ? plan.execution : ran
  return {
    subject,
    end: inner.end,
    ...(inner.told !== undefined && { told: inner.told }),
    items: plan.execution?.items ?? [],
    jobs: plan.jobs,
  }
}

type RecordedActivities = Pick<InstallationActivities, 'runExecution' | 'triggerSubInstallations'>

function recordedActivities(
  act: Act,
  asked: DryRunRequest,
  plan: { execution?: DryRunJob; readonly jobs: DryRunJob[] },
): RecordedActivities {
  const { jobID, subject } = asked
  return {
    async runExecution(_pass, given) {
      const { group, kind } = executionKind
      const of = { ...subject, group, kind, uid: given.target.uid }
      const { job, state } = await previewItems(
        act,
        { ...asked, by: { ...asked.by, controller: 'execution' }, subject: of },
        given,
      )
      plan.execution = job
      const phase = job.end === 'succeeds' ? 'Succeeded' : 'Failed'
      const lastError = job.told === undefined ? undefined : { operation: 'plan', reason: job.end, message: job.told }
      const draft = {
        phase,
        observedGeneration: given.target.generation,
        lastError,
        conditions: [],
        marks: [],
        fields: {},
      }
      return { outcome: done, result: phase, state, draft }
    },
    async triggerSubInstallations({ subInstallations: given }) {
      const { group, kind } = installationKind
      const left = new Map(
        given.map(({ uid, name }) => [uid, { group, kind, uid, namespace: subject.namespace, name }]),
      )
      for (const one of left.values()) await act.pretendStatus(one, { jobID, phase: 'Init' })
      // Sub-installations that wait for siblings are appended last.
      const waiting = new Map<string, DryRunJob>()
      for (let hasEnded = true; hasEnded;) {
        hasEnded = false
        for (const [uid, one] of left) {
          const job = await previewInstallation(act, { ...asked, subject: one })
          waiting.set(uid, job)
          if (job.end === 'waits') continue
          hasEnded = true
          left.delete(uid)
          plan.jobs.push(job)
          const phase = job.end === 'succeeds' ? 'Succeeded' : 'Failed'
          await act.pretendStatus(one, { jobID, jobIDFinished: jobID, phase })
        }
      }
      plan.jobs.push(...[...left.keys()].flatMap((uid) => waiting.get(uid) ?? []))
      const changed = await Promise.all(
        given.map(async (one) => {
          const of = { group, kind, uid: one.uid, namespace: subject.namespace, name: one.name }
          const { target } = await act.observeInstallation({ by: asked.by, subject: of, known: {}, knownSubs: {} })
          return target === undefined ? [] : [target]
        }),
      )
      return { changed: changed.flat(), gone: [] }
    },
  }
}
