// What the runs of controller.cm remember of its kinds, each under the kind's name.

export type { DeployItemView as DeployItem } from '../../../activities/landscaper/deploy-item-view.ts'
