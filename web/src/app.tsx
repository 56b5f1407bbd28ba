import { Answer } from './components/answer';
import { DropTarget } from './components/drop_target';
import { Help } from './components/help';
import { Question } from './components/question';
import { Terms } from './components/terms';
import { Toast } from './components/toast';
import { TopBar } from './components/top_bar';
import { Patterns } from './charts/patterns';

export const App = () => (
  <>
    <a class="skip" href="#out">Skip to the answer</a>
    <Patterns />
    <TopBar />
    <div class="app">
      <Question />
      <Answer />
    </div>
    <Toast />
    <DropTarget />
    <Help />
    <Terms />
  </>
);
