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
        // The Pods need the ConfigMap with their settings.
        sequential(step.applySettings, step.applyDeployment),
        step.applyService,
        step.reportReadiness,
      ),
      // A fault of an action replaces the message about ready Pods.
      reportFaults({ type: 'Ready', faultsOnly: true }),
    ),
    step.announce,
  ),
)
