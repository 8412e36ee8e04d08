// The steps of a pass, on one screen.

import { always, checkedPlan, joinOrdered, reportFaults, sequential } from 'pawl/kit'

import { appSteps } from './app.gen.ts'
import { announce } from './announce.ts'
import { applyDeployment } from './apply-deployment.ts'
import { applyService } from './apply-service.ts'
import { applySettings } from './apply-settings.ts'
import { reportReadiness } from './report-readiness.ts'

const step = appSteps({ applySettings, applyDeployment, applyService, reportReadiness, announce })

/** What a pass over an App does. */
export const appPlan = checkedPlan(
  joinOrdered(
    always(
      joinOrdered(
        // Pods start with settings that are there.
        sequential(step.applySettings, step.applyDeployment),
        step.applyService,
        step.reportReadiness,
      ),
      // What went wrong says more than how many Pods are ready.
      reportFaults({ type: 'Ready', faultsOnly: true }),
    ),
    step.announce,
  ),
)
