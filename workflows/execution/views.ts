// What the runs of controller.cm remember of its kinds, each under the kind's name.

export type { ExecutionView as Execution } from '../../activities/execution/views.ts'
export type { DeployItemView as DeployItem } from '../../activities/kube/deploy-item-view.ts'
