// What the runs of controller.cm remember of its kinds, each under the kind's name.

export type {
  ChildExecution as Execution,
  InstallationView as Installation,
} from '../../../activities/landscaper/installation/views.ts'
