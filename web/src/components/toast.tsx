import { undo } from '../state/actions';
import { use } from '../state/store';

export function Toast() {
  const toast = use((state) => state.toast);
  return (
    <div class="toast" id="toast" role="status">
      {toast && <>{toast.text}{toast.undo && <button onClick={undo}>Undo</button>}</>}
    </div>
  );
}
