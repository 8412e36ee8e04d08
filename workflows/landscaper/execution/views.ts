// What the runs of controller.cm remember of its kinds, each under the kind's name.

export type { ExecutionView as Execution } from '../../../activities/landscaper/execution/views.ts'
export type { DeployItemView as DeployItem } from '../../../activities/landscaper/deploy-item-view.ts'
