// The types of the objects that controller.cm observes, each exported under its kind's name.

export type {
  ChildExecution as Execution,
  InstallationView as Installation,
} from '../../../activities/landscaper/installation/views.ts'
