import threading

threading.Thread(target=threading.Event().wait, daemon=True).start()
