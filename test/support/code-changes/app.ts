// The controller of the App example after code changes. The changes add up, like the releases of a project.

import { action, always, defineLevel, done, joinOrdered, reportFaults, sequential, setPassCondition } from 'pawl/kit'
import type { Service } from 'pawl/kit/v1'

import { announce, announcements } from '../../../examples/app/announce.ts'
import { type AppPass, appQueries, appSteps } from '../../../examples/app/app.gen.ts'
import { applyDeployment } from '../../../examples/app/apply-deployment.ts'
import { applyService } from '../../../examples/app/apply-service.ts'
import { applySettings } from '../../../examples/app/apply-settings.ts'
import { appController } from '../../../examples/app/controllers.ts'
import { reportReadiness } from '../../../examples/app/report-readiness.ts'

/** The changes in the order of the releases. None of them changes the objects of an App. */
export const APP_CHANGES = ['more', 'reordered', 'less', 'query', 'renamed'] as const
export type AppChange = (typeof APP_CHANGES)[number]

/** Changes after which open runs cannot be replayed. */
export const MISFITS: readonly AppChange[] = ['more', 'reordered', 'less', 'query']

/** The type of the condition that names the latest code version. */
export const CODE = 'Code'

interface WithMore {
  readonly state: { readonly others: readonly Service[] }
}

const step = appSteps({ applySettings, applyDeployment, applyService, reportReadiness, announce })

const lookAgain = action<AppPass>('lookAgain', async (pass) => {
  await pass.refresh('settings')
  return done
})

const countOthers = action<AppPass & WithMore>('countOthers', ({ state }) => (state.others.length >= 0 ? done : done))

/** The controller with these changes. The last change is the name of the code version. */
export function changedApp(changes: readonly AppChange[]) {
  const has = (change: AppChange) => changes.includes(change)
  const tellCode = action<AppPass>('tellCode', (pass) => {
    setPassCondition(pass, {
      type: CODE,
      status: 'True',
      reason: changes.at(-1) ?? 'none',
      message: changes.join(', '),
    })
    return done
  })
  const rollOut = has('renamed') ? { ...step.applyDeployment, name: 'rollOut' } : step.applyDeployment
  const apply = sequential(step.applySettings, rollOut)
  const plan = joinOrdered<AppPass & WithMore>(
    ...(has('query') ? [countOthers] : []),
    ...(has('more') && !has('reordered') ? [lookAgain] : []),
    always(
      joinOrdered(
        apply,
        ...(has('reordered') ? [lookAgain] : []),
        ...(has('less') ? [] : [step.applyService]),
        step.reportReadiness,
      ),
      reportFaults({ type: 'Ready', faultsOnly: true }),
    ),
    tellCode,
    step.announce,
  )
  const others = { kind: 'v1/Service', many: true } as const
  // The cast is safe: without the change `query`, the plan has no step that reads `others`.
  const queries = (has('query') ? { ...appQueries, others } : appQueries) as typeof appQueries & {
    others: typeof others
  }
  const { name, target } = appController
  const writes = ['v1/ConfigMap', 'v1/Service', 'apps/v1/Deployment']
  return defineLevel({ name, target, writes, queries, plan, activities: announcements })
}
