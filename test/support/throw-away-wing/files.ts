// The source files of a test wing, zoo, which no existing file mentions: a kind in job mode with its own activity and
// admission rules, and a deployer. `pawl gen new` adds a kind in level mode. The files are strings, because
// their imports resolve only in the copy of the checkout.

/** Contents by path relative to the root of the checkout. */
export const FILES: ReadonlyMap<string, string> = new Map([
  [
    'workflows/zoo/wing.ts',
    `
import type { Wing } from '../kit/index.ts'

export const zooWing = {
  flags: {
    'parcel-unit': { takes: '<word>', reads: 'text', otherwise: 'kg', text: 'what parcels are weighed in' },
    'parcel-most': { takes: '<count>', reads: 'number', least: 0, otherwise: 100, inWebhook: true, text: 'how many things a parcel may have in it' },
  },
  workerRules: [],
  admission: {
    configuration: 'zoo-validation-webhook',
    domain: 'validation.zoo.pawl.dev',
    skipLabel: 'zoo.pawl.dev/skip',
    mutation: { configuration: 'zoo-mutation-webhook', domain: 'mutation.zoo.pawl.dev' },
  },
} as const satisfies Wing
`,
  ],
  [
    'workflows/zoo/parcel/kind.ts',
    `
import { anyJson, defineKind, int64, integer, type ObjectOf, path, record, required, text } from '../../kit/index.ts'

export const parcelKind = defineKind({
  group: 'zoo.pawl.dev',
  version: 'v1alpha1',
  kind: 'Parcel',
  plural: 'parcels',
  singular: 'parcel',
  shortNames: [],
  statusSubresource: true,
  printerColumns: [],
  description: 'Is weighed.',
  schema: {
    spec: required(record('What it is.', { size: required(integer('How many things are in it.')), label: text('What stands on it.') })),
    status: record('What was found.', {
      jobID: text('The current or last job.'),
      jobIDFinished: text('The last job that ended.'),
      phase: text('Where the job stands.'),
      observedGeneration: int64('What the job is about.'),
      trouble: anyJson('Why the last job failed.'),
      weight: text('What it weighs.'),
    }),
  },
  projection: ['phase', 'jobID', 'jobIDFinished', 'observedGeneration'].map((field) => path(\`status.\${field}\`)),
  workerVerbs: ['get', 'patch'],
})

export type Parcel = ObjectOf<typeof parcelKind>
`,
  ],
  [
    'workflows/zoo/parcel/admission.ts',
    `
import type { Admission } from '../../kit/index.ts'
import { type Parcel, parcelKind } from './kind.ts'

export const parcelAdmission: Admission = {
  kind: parcelKind,
  operations: ['CREATE', 'UPDATE'],
  validate: ({ object }) => ((object as Parcel).spec.size < 0 ? [{ field: 'spec.size', found: 'a debt', expected: 'things' }] : []),
  asyncRules: () => import('../../../activities/zoo/further-rules.ts'),
  mutations: [
    {
      name: 'label',
      filter: { spec: true },
      whenUnavailable: 'failure-policy',
      mutate: ({ object }) => ((object as Parcel).spec.label === undefined ? [{ path: ['spec', 'label'], value: 'fragile' }] : []),
    },
  ],
}
`,
  ],
  [
    'activities/zoo/further-rules.ts',
    `
import type { AsyncRulesContext, AsyncRules } from '../../workflows/kit/index.ts'
import type { Parcel } from '../../workflows/zoo/parcel/kind.ts'

export function openAsyncRules({ flags }: AsyncRulesContext): AsyncRules {
  return {
    validate({ object }) {
      const { size } = (object as Parcel).spec
      const most = flags['parcel-most'] as number
      return Promise.resolve(size > most ? [{ field: 'spec.size', found: String(size), expected: \`at most \${most}\` }] : [])
    },
    close: () => Promise.resolve(),
  }
}
`,
  ],
  ['workflows/zoo/parcel/README.md', '# Parcel\n\nIs weighed.\n'],
  [
    'workflows/zoo/parcel/controller.ts',
    `
import {
  groupKindText,
  isIdle,
  type JobModeController,
  jobIDsOf,
  path,
  type RoutedEvent,
  type Routing,
  valueAt,
  type RunRequest,
} from '../../kit/index.ts'
import { parcelKind } from './kind.ts'
import { parcelPlan } from './plan.ts'

export const parcelController: JobModeController = {
  name: 'parcel',
  mode: 'job',
  target: parcelKind,
  watches: [parcelKind],
  queries: {},
  plan: parcelPlan,
  routes: { controller: 'parcel', byKind: { [groupKindText(parcelKind)]: fromParcel } },
  status: {
    finalizer: 'zoo.pawl.dev/parcel',
    firstPhase: () => 'Weighing',
    onBegin: () => ({ trouble: null }),
    onHandDown: () => ({}),
    needsCurrentStatus: () => false,
    onSettle: ({ lastError }) => ({ trouble: lastError ?? null }),
  },
  requestedRun: parcelRun,
  triggers: [{ path: path('metadata.generation'), when: 'edited' }],
  fields: { controller: 'parcel', fields: { Parcel: [path('status')] }, makes: [] },
}

function parcelRun(parcel: object): RunRequest {
  const ids = jobIDsOf(parcel)
  if (!isIdle(ids)) return { jobID: ids.jobID, cause: 'unfinished job' }
  const isEdited = valueAt(parcel, path('metadata.generation')) !== valueAt(parcel, path('status.observedGeneration'))
  return isEdited ? { jobID: undefined, cause: 'changed spec' } : { none: 'parcel is as it was weighed' }
}

function fromParcel(event: RoutedEvent): Routing {
  const subject = { controller: 'parcel', uid: event.uid, namespace: event.namespace, name: event.name }
  if (event.type === 'DELETED') return { routes: [{ ...subject, mode: 'notify', cause: 'deleted' }] }
  const run = parcelRun(event.projection)
  return 'none' in run ? { ignored: run.none } : { routes: [{ ...subject, mode: 'start', cause: run.cause }] }
}
`,
  ],
  [
    'workflows/zoo/parcel/plan.ts',
    `
import { action, done, isIdle, type JobPass, type JobPlan, type JobState, type Outcome, stop, SUPERSEDED } from '../../kit/index.ts'
import type { Activities } from '../../../activities/index.ts'

export type ParcelActivities = Pick<Activities, 'observeParcel' | 'weighParcel' | 'beginJob'>
export type ParcelPass = JobPass<JobState, ParcelActivities>

export async function beginParcel(pass: ParcelPass): Promise<Outcome> {
  const { by, subject, jobID, state, act } = pass
  if (state.target.jobID === jobID) return done
  if (!isIdle(state.target)) return stop(SUPERSEDED)
  const target = await act.beginJob({ by, subject, jobID, target: state.target })
  if (target === undefined) return stop(SUPERSEDED)
  pass.state = { target }
  pass.draft.phase = target.phase
  pass.draft.observedGeneration = target.observedGeneration
  return done
}

const weighParcel = action('weighParcel', async ({ subject, draft, act }: ParcelPass) => {
  draft.fields['weight'] = await act.weighParcel(subject)
  return done
})

export const parcelPlan: JobPlan<ParcelPass> = {
  kind: 'Parcel',
  phases: { Weighing: { step: weighParcel, next: 'Weighed' } },
  finalPhases: ['Weighed', 'Lost'],
  first: () => 'Weighing',
  failed: () => 'Lost',
}
`,
  ],
  [
    'workflows/zoo/parcel/workflow.ts',
    `
import type { JobController, JobInput, JobState } from '../../kit/index.ts'
import { runJob, type RunResult, shortActivities } from '../../kit/run/loop/index.ts'
import { beginParcel, type ParcelActivities, parcelPlan } from './plan.ts'

const controller: JobController<JobState, ParcelActivities> = {
  plan: parcelPlan,
  act: shortActivities<ParcelActivities>(),
  async observe(act, { subject }, by) {
    const target = await act.observeParcel({ by, subject })
    return target && { target }
  },
  begin: beginParcel,
  details: ({ draft }) => draft.phase ?? '',
}

export async function parcel(input: JobInput): Promise<RunResult> {
  return await runJob(controller, input)
}
`,
  ],
  [
    'activities/zoo/wing.ts',
    `
import type { By, Subject, TargetView } from '../../workflows/kit/index.ts'
import type { zooWing } from '../../workflows/zoo/wing.ts'
import { parcelKind } from '../../workflows/zoo/parcel/kind.ts'
import type { Deps } from '../deps.ts'
import { readSubject, recordObservation } from '../kube/read-family.ts'
import { targetView } from '../kube/object-views.ts'
import type { ActivityWing } from '../wing.ts'

export const zoo: ActivityWing<typeof zooWing.flags, ReturnType<typeof zooActivities>> = {
  open: (deps, { 'parcel-unit': unit }) => ({ activities: zooActivities(deps, unit), close: () => Promise.resolve() }),
}

function zooActivities(deps: Deps, unit: string) {
  return {
    async observeParcel({ by, subject }: { by: By; subject: Subject }): Promise<TargetView | undefined> {
      const [parcel] = await Promise.all([readSubject(deps, parcelKind, subject), recordObservation(deps, by)])
      return parcel && targetView(parcel)
    },
    async weighParcel(subject: Subject): Promise<string> {
      const parcel = await readSubject(deps, parcelKind, subject)
      return \`\${2 * (parcel?.spec.size ?? 0)} \${unit}\`
    },
  }
}
`,
  ],
  [
    'activities/landscaper/deploy/echo/deployer.ts',
    `
// Says what its configuration says.

import type { QuickDeployer } from '../run/deployer.ts'

export const deployer: QuickDeployer<Readonly<Record<string, unknown>>> = {
  type: 'zoo.pawl.dev/echo',
  name: 'echo',
  pace: 'quick',
  needsTarget: false,
  checkpoint: 'never',
  parse: ({ spec }) => spec.config ?? {},
  answer: (_, { apiVersion, kind, ...said }) => ({ phase: 'Succeeded', exports: said }),
}
`,
  ],
])
