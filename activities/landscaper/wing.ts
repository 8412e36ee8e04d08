// Creates the wing's activities and their shared resources: template engine, registries, and target clusters.

import { FINALIZER, IN_USE_FINALIZER } from '../../workflows/landscaper/contract.ts'
import type { landscaperWing } from '../../workflows/landscaper/wing.ts'
import type { BeforeEnd, BeforeRelease } from '../deps.ts'
import type { ActivityWing } from '../wing.ts'
import { JobBlueprints } from './components/job-blueprints.ts'
import { createRegistries } from './components/registries.ts'
import { readDefaultContexts } from './context/default-contexts.ts'
import { deployers } from './deploy/deployers.gen.ts'
import { quickItemActivities } from './deploy/run/answer-items.ts'
import { OWNERSHIP_LABELS } from './deploy/manifest/ownership-labels.ts'
import { previewOf } from './deploy/run/preview-items.ts'
import { retryActivities } from './deploy/run/forget-retry.ts'
import { itemActivities, sendActivities, FirstAttempts } from './deploy/run/item-activities.ts'
import { observeActivities as observeDeployItem } from './deploy/run/observe.ts'
import { createProtection } from './deploy/target/protection.ts'
import { createTargetAccess, type TargetDeps } from './deploy/target/open-target.ts'
import type { LandscaperDeps } from './deps.ts'
import { deployItemActivities } from './execution/deploy-items.ts'
import { endItemActivities, skipItemActivities } from './execution/end-items.ts'
import { exportActivities as executionExports } from './execution/exports.ts'
import { observeActivities as observeExecution } from './execution/observe.ts'
import { adoptActivities, startActivities } from './installation/start.ts'
import { applyChildrenActivities } from './installation/apply-children.ts'
import { childExecutionActivities } from './installation/child-execution.ts'
import { exportActivities as installationExports, withdrawExports } from './installation/exports.ts'
import { importersOf } from './installation/importers.ts'
import { interruptActivities } from './installation/interrupt.ts'
import { releaseTargetsOfExecution, releaseTargetsOfInstallation } from './execution/release-targets.ts'
import { removedClusterActivities } from './execution/removed-clusters.ts'
import { observeActivities as observeInstallation } from './installation/observe.ts'
import { dependentActivities } from './installation/dependents.ts'
import { subInstallationActivities } from './installation/sub-installations.ts'
import { KubeconfigCache } from './kubeconfigs/kubeconfig-cache.ts'
import { pauseActivities } from './pauses.ts'
import { createTemplateEngine } from './render/engine/template-engine.ts'
import { createTrust } from './trust.ts'

export type LandscaperActivities = ReturnType<typeof landscaperActivities>

export const landscaper: ActivityWing<typeof landscaperWing.flags, LandscaperActivities> = {
  open(deps, flags) {
    const { 'pickup-timeout': pickupTimeoutMs, 'strict-tenancy': strictTenancy, 'target-allow': allow } = flags
    const templates = createTemplateEngine()
    const data: TargetDeps['data'] = (tenant) => templates.of(tenant).data
    const targets = createTargetAccess({ ...deps, strictTenancy, allow, data })
    const registries = createRegistries({ allow, now: deps.now })
    const components = {
      registryFolder: flags['registry-local'],
      registries,
      blueprints: new JobBlueprints(),
      signatures: flags['verify-signatures'],
    }
    const defaultContexts = readDefaultContexts(flags)
    const kubeconfigs = new KubeconfigCache()
    const trust = createTrust(deps, flags['webhook-vouches'])
    const parts = {
      protection: createProtection(deps, flags.protect),
      templates,
      components,
      targets,
      kubeconfigs,
      pickupTimeoutMs,
      strictTenancy,
      defaultContexts,
      trust,
    }
    const own = { ...deps, landscaper: parts }
    return {
      activities: landscaperActivities(own),
      beforeEnd: landscaperEnds(own),
      beforeRelease: landscaperReleases(own),
      parts: own,
      foresight: previewOf(own, deployers, {
        importersOf: async (namespace, objects) => await importersOf(deps, namespace, objects),
        internal: [
          `metadata.labels.${OWNERSHIP_LABELS.label}`,
          `metadata.annotations.${OWNERSHIP_LABELS.hash}`,
          ...[FINALIZER, IN_USE_FINALIZER].map((one) => `metadata.finalizers.${one}`),
        ],
      }),
      close: async () => {
        await Promise.all([targets.close(), registries.close(), templates.close()])
      },
    }
  },
}

/** Work before the engine writes the end of a job. */
export function landscaperEnds(deps: LandscaperDeps): BeforeEnd {
  return { installation: (end) => withdrawExports(deps, end) }
}

/** The work before the engine removes the finalizer of an object. */
export function landscaperReleases(deps: LandscaperDeps): BeforeRelease {
  return {
    execution: (release) => releaseTargetsOfExecution(deps, release),
    installation: (release) => releaseTargetsOfInstallation(deps, release),
  }
}

export function landscaperActivities(deps: LandscaperDeps) {
  const sending = new FirstAttempts()
  return {
    ...observeInstallation(deps),
    ...startActivities(deps),
    ...adoptActivities(deps),
    ...applyChildrenActivities(deps),
    ...childExecutionActivities(deps),
    ...interruptActivities(deps),
    ...pauseActivities(deps),
    ...skipItemActivities(deps),
    ...subInstallationActivities(deps),
    ...installationExports(deps),
    ...dependentActivities(deps),
    ...observeExecution(deps),
    ...deployItemActivities(deps),
    ...endItemActivities(deps),
    ...removedClusterActivities(deps),
    ...executionExports(deps),
    ...observeDeployItem(deps),
    ...retryActivities(deps),
    ...quickItemActivities(deps, deployers),
    ...sendActivities(deps, deployers, sending),
    ...itemActivities(deps, deployers, sending),
  }
}
