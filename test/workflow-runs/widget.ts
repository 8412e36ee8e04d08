// A minimal controller in job mode for tests of the workflow loop: its activities define the outcome of each pass.

import {
  action,
  type By,
  done,
  isDone,
  type JobController,
  type JobInput,
  type JobState,
  type Outcome,
  type ShownJob,
  type StepController,
} from '../../workflows/kit/index.ts'
import {
  longActivities,
  runJob,
  type RunResult,
  runSteps,
  shortActivities,
} from '../../workflows/kit/run/loop/index.ts'

/** The outcome of a step, set by the test. `bug` makes the workflow code throw. */
export interface Answer extends Partial<Outcome> {
  readonly bug?: string
  /** The status of a gizmo after the step. */
  readonly shown?: ShownJob
}

export interface WidgetActivities {
  observeWidget(by: By): Promise<JobState | undefined>
  prepareWidget(by: By): Promise<Answer>
  workOnWidget(by: By): Promise<Answer>
}

export interface GizmoState {
  readonly target: ShownJob
}

// A regular activity, so that the workflow receives wake signals while a pass runs.
const { workOnWidget } = longActivities<WidgetActivities>({ startToCloseMs: 20_000, attempts: 1 })
const act: WidgetActivities = { ...shortActivities<WidgetActivities>(), workOnWidget }
const { observeWidget, prepareWidget } = shortActivities<WidgetActivities>()

function outcomeOf({ bug, ...outcome }: Omit<Answer, 'shown'>): Outcome {
  if (bug !== undefined) throw new TypeError(bug)
  return { ...done, ...outcome }
}

const controller: JobController<JobState, WidgetActivities> = {
  plan: {
    kind: 'Widget',
    phases: {
      Init: { step: action('prepareWidget', async ({ by }) => outcomeOf(await prepareWidget(by))), next: 'Working' },
      Working: { step: action('workOnWidget', async ({ by }) => outcomeOf(await workOnWidget(by))), next: 'Succeeded' },
    },
    finalPhases: ['Succeeded', 'Failed'],
    first: () => 'Init',
    failed: () => 'Failed',
  },
  act,
  observe: (_, __, by) => observeWidget(by),
  hooks: {
    after: ({ name }, result, { subject, draft }) => {
      if (!('thrown' in result) && isDone(result)) draft.fields['ended'] = `${name} of ${subject.name}`
    },
  },
  details: ({ draft }) => draft.phase ?? '',
}

const steps: StepController<GizmoState, WidgetActivities> = {
  act,
  observe: (_, __, by) => observeWidget(by),
  step: action('workOnGizmo', async (pass) => {
    const { shown, ...answer } = await workOnWidget(pass.by)
    if (shown !== undefined) pass.state = { target: shown }
    return outcomeOf(answer)
  }),
  shown: ({ target }) => target,
  failedPhases: ['Failed'],
  details: () => '',
}

export async function widget(input: JobInput): Promise<RunResult> {
  return await runJob(controller, input)
}

/** A workflow whose actions write the status themselves. */
export async function gizmo(input: JobInput): Promise<RunResult> {
  return await runSteps(steps, input)
}
