// What the runs of controller.cm remember of its kinds, each under the kind's name.

export type { GroupItem as DeployItem } from '../../../activities/landscaper/deploy/run/views.ts'
