// The plan of a cluster: the 24 steps of the seed in its order. Source: seeds/foundationdb-operator-technical-design.txt "Cluster Reconciliation".

import { always, nop, sequential, type Step, when } from '../../kit/index.ts'
import type { ClusterPass } from './pass.ts'
import { reportClusterProgress } from './report-progress.ts'
import { addPods } from './steps/add-pods.ts'
import { addProcessGroups } from './steps/add-process-groups.ts'
import { addPVCs } from './steps/add-pvcs.ts'
import { addServices } from './steps/add-services.ts'
import { bounceProcesses } from './steps/bounce-processes.ts'
import { changeCoordinators } from './steps/change-coordinators.ts'
import { checkClientCompatibility } from './steps/check-client-compatibility.ts'
import { chooseRemovals } from './steps/choose-removals.ts'
import { deletePodsForBuggification } from './steps/delete-pods-for-buggification.ts'
import { excludeInstances } from './steps/exclude-instances.ts'
import { generateInitialClusterFile } from './steps/generate-initial-cluster-file.ts'
import { removePods } from './steps/remove-pods.ts'
import { removeServices } from './steps/remove-services.ts'
import { replaceFailedPods } from './steps/replace-failed-pods.ts'
import { replaceMisconfiguredPods } from './steps/replace-misconfigured-pods.ts'
import { updateConfigMap } from './steps/update-config-map.ts'
import { updateDatabaseConfiguration } from './steps/update-database-configuration.ts'
import { updateLabels } from './steps/update-labels.ts'
import { updateLockConfiguration } from './steps/update-lock-configuration.ts'
import { updatePodConfig } from './steps/update-pod-config.ts'
import { updatePods } from './steps/update-pods.ts'
import { updateSidecarVersions } from './steps/update-sidecar-versions.ts'
import { updateStatusFirst, updateStatusLast } from './steps/update-status.ts'
import { validateSpec } from './validate-spec.ts'

export const CLUSTER_STEPS: readonly Step<ClusterPass>[] = [
  updateStatusFirst,
  updateLockConfiguration,
  updateConfigMap,
  checkClientCompatibility,
  replaceMisconfiguredPods,
  replaceFailedPods,
  deletePodsForBuggification,
  addProcessGroups,
  addServices,
  addPVCs,
  addPods,
  generateInitialClusterFile,
  updateSidecarVersions,
  updatePodConfig,
  updateLabels,
  updateDatabaseConfiguration,
  chooseRemovals,
  excludeInstances,
  changeCoordinators,
  bounceProcesses,
  updatePods,
  removeServices,
  removePods,
  updateStatusLast,
]

function isSkipped({ target }: ClusterPass): boolean {
  return target.spec.skip === true
}

export const reconcileCluster: Step<ClusterPass> = when(
  isSkipped,
  nop as Step<ClusterPass>,
  always(sequential(validateSpec, ...CLUSTER_STEPS), reportClusterProgress),
)

export const clusterPlans = { plan: reconcileCluster }
