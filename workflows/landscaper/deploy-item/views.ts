// The types of the objects that controller.cm observes, each exported under its kind's name.

export type { DeployItemView as DeployItem } from '../../../activities/landscaper/deploy-item-view.ts'
